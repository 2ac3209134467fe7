import { hostname, userInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import { ConfigError } from '../platform/errors.ts';
import { newSecret } from '../platform/ids.ts';
import { visibleText } from '../platform/text.ts';
import { endLease, findLease, renewLease, takeLease } from './lease.store.ts';

/** Of a process that was killed it is over after this. Longer than any step takes. */
const leaseSeconds = 30;
const renewedEachMs = 10_000;
const askedAgainMs = 1000;

/** The right to apply files to this store, from the plan to the last step. */
export type Lease = {
  /** To call before each step. @returns false if the time was over, and another one has it. */
  isHeld(): Promise<boolean>;
  end(): Promise<void>;
};

/**
 * Of two applies at once, the plan of each would be wrong by the time it is carried out.
 * @param waitSeconds for which another one is waited for.
 * @throws {ConfigError} with who holds it, and since when.
 */
export async function leaseApply(deps: Pick<Deps, 'db' | 'clock'>, waitSeconds: number): Promise<Lease> {
  const holder = newSecret();
  for (let waited = 0; ; waited += 1) {
    const at = now(deps);
    const lease = { holder, held_by: whoWeAre(), held_since: at, held_until: at + leaseSeconds };
    if (await takeLease(deps.db, lease)) break;
    if (waited >= waitSeconds) throw await isHeldBy(deps);
    await sleep(askedAgainMs);
  }
  const isHeld = () => renewLease(deps.db, holder, now(deps) + leaseSeconds);
  // While a person reads the plan. What fails here fails again at the next step, where it is reported.
  const timer = setInterval(() => void isHeld().catch(() => undefined), renewedEachMs).unref();
  return {
    isHeld,
    async end() {
      clearInterval(timer);
      await endLease(deps.db, holder);
    },
  };
}

async function isHeldBy({ db }: Pick<Deps, 'db'>): Promise<ConfigError> {
  const held = await findLease(db);
  const how = 'Nothing was changed. Try again when it has ended, or give --wait with a number of seconds.';
  if (!held) return new ConfigError(`Another apply has just ended. ${how}`);
  const { held_by, held_since, held_until } = held;
  const time = (at: number) => new Date(at * 1000).toISOString().replace('.000Z', 'Z');
  const until = `If it was killed, its turn is over at ${time(held_until)}.`;
  return new ConfigError(`${visibleText(held_by, 200)} is applying files since ${time(held_since)}. ${until} ${how}`);
}

function whoWeAre(): string {
  const where = `on ${hostname()} (process ${process.pid})`;
  try {
    return `${userInfo().username} ${where}`;
  } catch {
    return `A user ${where}`; // of a container may have no name
  }
}
