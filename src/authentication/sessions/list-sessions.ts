import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { deviceName } from './device.ts';
import { activeSessionsOf, type ListedSession } from './store.ts';

/** Where a person is signed in, last used first. */
export const listSessions = (deps: StoreDeps, user_id: string): Promise<ListedSession[]> =>
  activeSessionsOf(deps.db, user_id, now(deps));

/** What may be told of a session: never its secret, nor the User-Agent as it came. Times are Unix seconds. */
export const sessionRecord = ({ user_agent, amr, ...session }: ListedSession) => ({
  ...session,
  device: deviceName(user_agent) ?? null,
  amr: amr.split(' '),
});
