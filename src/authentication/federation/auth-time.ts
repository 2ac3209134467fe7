import { now } from '../../platform/clock.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import { passwordOf } from '../credentials/passwords.store.ts';
import { findTotp } from '../credentials/two-factor.store.ts';
import type { Visit } from '../sessions/complete-sign-in.ts';
import type { Detour } from './detour.ts';
import { provedSince } from './freshness.ts';
import { refuseIdentity, type Trip } from './refuse-identity.ts';
import type { UpstreamAccount } from './upstream-account.ts';

type Arrived = { account: UpstreamAccount; detour: Detour; visit: Pick<Visit, 'previous'>; trip: Trip };

/**
 * When the person proved who they are. A provider that knows the browser sends it back without having asked anybody, so
 * a session that goes on is not fresher by it: neither for what takes a recent sign-in nor for a client.
 * @returns Unix seconds.
 * @throws {RequestError} `access_denied` where fresh proof is demanded, the provider does not say when it asked, and
 * the person can prove it another way.
 */
export async function authTimeOf(deps: LimitDeps, arrived: Arrived, user_id: string): Promise<number> {
  const { account, detour, visit, trip } = arrived;
  const at = now(deps);
  const before = visit.previous?.user_id === user_id ? visit.previous.auth_time : undefined;
  if (account.auth_time !== undefined) {
    return Math.max(Math.min(at, Math.floor(account.auth_time)), before ?? 0);
  }
  // Nobody was signed in, and now somebody is: that is a sign-in, of which nothing else is known.
  if (before === undefined) return at;
  const since = provedSince(detour, at);
  // With TOTP the proof that counts is the second step, which this sign-in still has before it.
  if (since === undefined || before >= since || (await hasTotp(deps, user_id))) return before;
  if (!(await canProveOtherwise(deps, user_id))) return at;
  const why = { code: 'access_denied', say: 'federation.says_no_time', reason: 'auth_time_missing', user_id } as const;
  throw await refuseIdentity(deps, trip, why);
}

async function hasTotp({ db }: Pick<Deps, 'db'>, user_id: string): Promise<boolean> {
  const totp = await findTotp(db, user_id);
  return totp !== undefined && totp.confirmed_at !== null;
}

async function canProveOtherwise({ db }: Pick<Deps, 'db'>, user_id: string): Promise<boolean> {
  const [password, passkeys] = await Promise.all([passwordOf(db, user_id), listPasskeys(db, user_id)]);
  return password !== undefined || passkeys.length > 0;
}
