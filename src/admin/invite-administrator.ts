import {
  deleteLinks,
  findOpenLink,
  hasAdministrator,
  insertLink,
  noAdministrator,
  type OneTimeLink,
} from '../accounts/statements.ts';
import { type Actor, auditEvent } from '../audit/audit.ts';
import { createUser } from '../authentication/account-links/create-user.ts';
import type { Deps } from '../authentication/deps.ts';
import { now } from '../platform/clock.ts';
import type { Db, Part } from '../platform/db/db.ts';
import type { LimitDeps, StoreDeps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import { digest, newSecret } from '../platform/ids.ts';

/** A day: long enough to find the terminal again, short enough to forget a printed link. */
const invitationSeconds = 86_400;

/**
 * @param purpose a link for the first administrator, which a start prints, is good only while there is none.
 * @returns a link that creates one administrator account, once.
 */
export async function inviteAdministrator(
  deps: LimitDeps,
  actor: Actor,
  purpose: 'administrator' | 'first_administrator' = 'administrator',
): Promise<{ url: string; expires_at: number }> {
  const token = newSecret('inv_');
  const at = now(deps);
  const expires_at = at + invitationSeconds;
  const { statement } = auditEvent({ action: 'administrator.invited', actor, after: { expires_at } }, at);
  const link = insertLink({ token_hash: digest(token), purpose, expires_at }, at);
  await partOf(deps.db, purpose, token).change({ run: { link, event: statement } });
  return { url: `${deps.config.baseUrl}/invite/${token}`, expires_at };
}

const purposes = ['administrator', 'first_administrator'] as const;

/** All links for the first administrator are in one part of the store, so that one of them is used. */
const partOf = (db: Db, purpose: (typeof purposes)[number], token: string): Part =>
  db.of(purpose === 'administrator' ? token : purpose);

export async function findInvitation(
  { db, clock }: StoreDeps,
  token: string,
): Promise<{ link: OneTimeLink; part: Part } | undefined> {
  for (const part of new Set(purposes.map((purpose) => partOf(db, purpose, token)))) {
    const link = await findOpenLink(part, digest(token), purposes, now({ clock }));
    if (!link) continue;
    return link.purpose === 'first_administrator' && (await hasAdministrator(db)) ? undefined : { link, part };
  }
  return undefined;
}

/** `address` is where the request came from. */
type Acceptance = { email: string; name: string; password: string; address: string };

/**
 * Uses an invitation up and makes its account, both or neither.
 * @throws {RequestError} `invalid_request`, with `fields` when the link is still good and something else is not;
 * `invalid_state` if the address has an account.
 */
export async function acceptInvitation(
  deps: Pick<Deps, 'db' | 'clock' | 'passwords' | 'placement' | 'claims' | 'attributes'>,
  token: string,
  { address, ...acceptance }: Acceptance,
): Promise<string> {
  const found = await findInvitation(deps, token);
  if (!found) throw spentInvitation();
  const { link, part } = found;
  // Each start prints a link for the first administrator. Of several that are used at once one makes an account.
  const others = deleteLinks('first_administrator');
  const account = { ...acceptance, role: 'admin', emailVerified: false } as const;
  const user_id = await createUser(
    deps,
    account,
    { address },
    {
      in: part,
      link,
      ...(link.purpose === 'first_administrator'
        ? { require: { first: noAdministrator }, ends: others }
        : { lock: others }),
      refusal: spentInvitation,
    },
  );
  const partOfOthers = partOf(deps.db, 'first_administrator', token);
  if (partOfOthers !== part) await partOfOthers.run(others);
  return user_id;
}

export const spentInvitation = () =>
  refusal(
    'invalid_request',
    { key: 'invitation.spent' },
    { title: { key: 'error.link_spent' }, exit: { path: '/signin', label: 'signin.submit' } },
  );
