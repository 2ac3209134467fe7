import { alertFacts, isAlertKind } from '../../authentication/alerts/kinds.ts';
import { type AlertRow, alertsOfClient, findAlert } from '../../authentication/statements.ts';
import type { Client } from '../../clients/client.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import { askAll, compareText } from '../../platform/db/parts.ts';
import { notFound } from '../../platform/errors.ts';
import { Time } from '../../platform/http/operation.ts';
import { networkKey } from '../../platform/ip-address.ts';
import { type Static, Type } from '../../platform/schema.ts';

const kinds = ['refresh_token_replayed', 'code_replayed'] as const;

const causes = ['race', 'stored', 'leaked'] as const;

/** A token of a client that came twice, for its owner: the user is a `sub`, as the client knows them. */
export const ClientAlert = Type.Object({
  alert_id: Type.String({ description: 'Identifies it in the address of its page.' }),
  kind: Type.Enum([...kinds], { description: 'What came a second time.' }),
  at: Time,
  sub: Type.String({ description: 'Whose sign-in has ended.' }),
  ...alertFacts,
  likely: Type.Enum([...causes], {
    description:
      '`race`: both within a minute, by what calls itself the same. `stored`: later, by the same. `leaked`: by what calls itself otherwise, or nothing is known of the first.',
  }),
});
export type ClientAlert = Static<typeof ClientAlert>;

const mostListed = 50;

/** Newest first. The caller has checked that the client is the user's. */
export async function alertsOfOwnClient(deps: Pick<Deps, 'db' | 'clock'>, client: Client): Promise<ClientAlert[]> {
  const at = now(deps);
  const found = await askAll(deps.db, (part) => alertsOfClient(part, client.client_id, at, mostListed));
  return found
    .flat()
    .sort((one, other) => other.created_at - one.created_at || compareText(other.alert_id, one.alert_id))
    .slice(0, mostListed)
    .flatMap((alert) => recordOf(client, alert) ?? []);
}

/** @throws {RequestError} `not_found` for one that is over, unknown, or of another client, all alike. */
export async function requireAlertOfClient(
  deps: Pick<Deps, 'db' | 'clock'>,
  client: Client,
  alert_id: string,
): Promise<ClientAlert> {
  const { client_id } = client;
  const alert = await findAlert(deps.db, alert_id, { client_id }, now(deps));
  const record = alert && recordOf(client, alert);
  if (!record) throw notFound();
  return record;
}

function recordOf(client: Client, { alert_id, kind, created_at, user_id, facts }: AlertRow): ClientAlert | undefined {
  const known = isAlertKind(kind) ? kinds.find((one) => one === kind) : undefined;
  if (known === undefined) return undefined;
  const uses = facts.uses.map((use) => ({ ...use, address: addressForOwner(client, use.address) }));
  return { alert_id, kind: known, at: created_at, sub: user_id, ...facts, uses, likely: likelyCause(facts) };
}

/** The back end of a confidential client asks from its own addresses; where a public one runs is where its user is. */
function addressForOwner({ client_type }: Client, address: string | null): string | null {
  if (address === null || client_type === 'confidential') return address;
  return networkKey(address).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24');
}

/** Seconds between two uses that are one race. */
const together = 60;

function likelyCause({ uses: [first, second], uses_between }: AlertRow['facts']): ClientAlert['likely'] {
  if (!first || !second || first.agent === null || first.agent !== second.agent) return 'leaked';
  const isSoon = uses_between === 0 && first.at !== null && (second.at ?? 0) - first.at <= together;
  return isSoon ? 'race' : 'stored';
}

export const likelyFirst = ({ likely }: ClientAlert) => [likely, ...causes.filter((one) => one !== likely)];
