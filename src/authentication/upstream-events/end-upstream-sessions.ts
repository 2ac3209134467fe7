import { lockUser } from '../../accounts/statements.ts';
import { now } from '../../platform/clock.ts';
import { unavailable } from '../../platform/errors.ts';
import type { UserId } from '../../platform/ids.ts';
import { findIdentity, noteSignedOut } from '../credentials/identities.store.ts';
import type { Provider } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';
import { signOutStatements } from '../sessions/sessions.ts';
import { sessionsOfSid, sessionsOfUpstream } from '../sessions/upstream-sessions.store.ts';

/** What a provider says has ended. */
export type UpstreamEnding = {
  /** The account there. */
  subject: string | undefined;
  /** The session there; undefined: all of the account that began until then. */
  sid: string | undefined;
  /** Unix seconds, by the clock of the provider. */
  until: number;
  reason: 'provider_sign_out' | 'provider_signal';
};

/** Sessions that one change ends, each with its grants. */
const sliceSessions = 10;
/** Slices in one request: more sessions than one user can have. */
const mostSlices = 20;

type EndDeps = Pick<Deps, 'db' | 'clock' | 'claims' | 'grants'>;

/**
 * Ends the sessions here that rest on what has ended at a provider, with their grants, as a sign-out here does. Done again it finds
 * nothing: a session that began later is not meant, so what comes twice, or late, is harmless.
 * @throws {RequestError} `temporarily_unavailable` if some are left; the same again ends those.
 */
export async function endUpstreamSessions(deps: EndDeps, provider: Provider, ending: UpstreamEnding): Promise<void> {
  const { subject, sid } = ending;
  const { issuer } = provider;
  const identity = subject === undefined ? undefined : await findIdentity(deps, issuer, subject);
  if (identity) return endOfUser(deps, provider, identity, ending);
  if (sid === undefined) return;
  // Without an account the session alone says whose it is. It leads to no part of the store.
  for (let slices = 0; slices < mostSlices; slices += 1) {
    const found = await sessionsOfSid(deps.db, { issuer, sid, subject }, sliceSessions);
    if (found.length === 0) return;
    const accounts = new Map(found.map((one) => [one.user_id, one.upstream_subject]));
    for (const [user_id, account] of accounts) {
      await endOfUser(deps, provider, { user_id, subject: account }, ending);
    }
  }
  throw unavailable('too many sessions of one sid');
}

async function endOfUser(
  deps: EndDeps,
  { id, issuer }: Provider,
  { user_id, subject }: { user_id: UserId; subject: string },
  { sid, until, reason }: UpstreamEnding,
): Promise<void> {
  const part = deps.db.of(user_id);
  const ended = { issuer, subject, sid, until };
  // First, so that no sign-in which is under way adds a session behind those that are read.
  await part.change({ lock: lockUser(user_id), run: { noted: noteSignedOut(user_id, ended) } });
  for (let slices = 0; slices < mostSlices; slices += 1) {
    const sessions = await sessionsOfUpstream(deps.db, user_id, ended, sliceSessions);
    if (sessions.length === 0) return;
    const why = { reason, provider: id } as const;
    const at = now(deps);
    await part.change({
      lock: lockUser(user_id),
      run: { ended: sessions.flatMap((one) => signOutStatements(deps, one, { actor: 'system' }, at, why)) },
    });
  }
  throw unavailable('too many sessions of one account');
}
