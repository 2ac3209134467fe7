import { lockUser } from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import type { Session } from '../../authentication/statements.ts';
import type { Deps } from '../../clients/deps.ts';
import { logoOf } from '../../clients/logos.ts';
import { nameForUsers } from '../../clients/presentation.ts';
import { now } from '../../platform/clock.ts';
import { notFound } from '../../platform/errors.ts';
import { nullable, Time } from '../../platform/http/operation.ts';
import type { ClientId, UserId } from '../../platform/ids.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { claimsWithin, userClaimNames } from '../claims/claims.ts';
import { appLimit } from '../grants/app-limit.ts';
import { deleteConsent, listConsents } from '../grants/consents.store.ts';
import { revokeAll } from '../grants/grants.ts';
import { activeAccessOf, isConnected } from '../grants/lists.store.ts';

/** A client that has access to a user's account. */
export const ConnectedApp = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  homepage_url: nullable(Type.String()),
  logo_url: nullable(Type.String({ description: 'Of its picture, which this service has kept; anyone may read it.' })),
  scope: Type.Array(Type.String(), { description: 'The scopes that the user has granted.' }),
  claims: Type.Array(Type.String(), {
    description: 'Claims that the client asked for by name, besides those of the scopes.',
  }),
  since: Time,
  last_used_at: nullable(Type.Integer({ description: 'When tokens were last issued. Unix seconds.' })),
});
export type ConnectedApp = Static<typeof ConnectedApp>;

/** One entry for each client with active grants or a remembered consent, last used first. */
export async function listConnectedApps(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'clients' | 'scopes' | 'attributes'>,
  user_id: UserId,
): Promise<ConnectedApp[]> {
  const names = userClaimNames(await deps.attributes.read());
  const [access, consents] = await Promise.all([
    activeAccessOf(deps.db, user_id, now(deps), names),
    listConsents(deps.db, user_id),
  ]);
  const parts: Part[] = [
    ...access,
    ...consents.map(({ granted_at, ...consent }) => ({ ...consent, since: granted_at })),
  ];
  const byClient = [...Map.groupBy(parts, ({ client_id }) => client_id)];
  const apps = await Promise.all(byClient.map(([client_id, all]) => connectedApp(deps, client_id, all)));
  return apps
    .filter((app) => app !== undefined)
    .sort((one, other) => (other.last_used_at ?? 0) - (one.last_used_at ?? 0) || one.name.localeCompare(other.name));
}

type Part = { client_id: ClientId; scope: string; claims: string | null; since: number; last_used_at?: number };

async function connectedApp(
  deps: Pick<Deps, 'config' | 'clients' | 'scopes' | 'attributes'>,
  client_id: ClientId,
  parts: readonly Part[],
) {
  const client = await deps.clients.find(client_id);
  if (!client) return undefined; // it was deleted between the two reads
  const [scopes, attributes] = await Promise.all([deps.scopes.read(), deps.attributes.read()]);
  const logo = logoOf(client);
  const scope = new Set(parts.flatMap((part) => part.scope.split(' ')));
  const claims = new Set(parts.flatMap((part) => part.claims?.split(' ') ?? []));
  const ofScope = claimsWithin(attributes, [...scope].join(' '));
  const uses = parts.flatMap(({ last_used_at }) => last_used_at ?? []);
  return {
    client_id,
    name: nameForUsers(client),
    // The page shows its host, which is the word of a client that came by itself.
    homepage_url: client.origin === null ? client.homepage_url : null,
    logo_url: logo === undefined ? null : deps.config.baseUrl + logo,
    scope: scopes.list().flatMap(({ name }) => (scope.has(name) ? [name] : [])),
    claims: userClaimNames(attributes).filter((name) => claims.has(name) && !ofScope.includes(name)),
    since: Math.min(...parts.map(({ since }) => since)),
    last_used_at: uses.length > 0 ? Math.max(...uses) : null,
  };
}

/**
 * Revokes all grants of a user to a client, and the remembered consent. The user gets one mail, however many requests ask
 * for it at once.
 * @throws {RequestError} `not_found` for a client that is unknown, or not connected to this user, both alike; `rate_limited`.
 */
export async function disconnectApp(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'clients' | 'mail'>,
  { session, client_id, address }: { session: Session; client_id: ClientId; address?: string },
): Promise<void> {
  const { user_id } = session;
  const client = await deps.clients.find(client_id);
  if (!client) throw notFound();
  const at = now(deps);
  const limit = appLimit(deps, 'disconnected');
  const event = auditEvent(
    {
      action: 'app.disconnected',
      actor: `user:${user_id}`,
      target: client_id,
      reason: 'user',
      after: { user_id },
      address,
    },
    at,
  );
  const disconnected = await deps.db.of(user_id).change({
    lock: lockUser(user_id), // of concurrent requests for the same client one finds it connected
    require: { connection: isConnected(user_id, client_id, at) },
    run: {
      limit: limit.taken(user_id),
      grants: revokeAll('app', { user_id, client_id })('user', at),
      consent: deleteConsent(user_id, client_id),
      event: event.statement,
      mail: mailTo(deps, session, 'app_disconnected', { app: client.name }),
    },
  });
  if (disconnected.ok) return;
  throw disconnected.failed === 'limit' ? await limit.refusal(user_id) : notFound();
}
