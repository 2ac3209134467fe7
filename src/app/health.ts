import { setTimeout as sleep } from 'node:timers/promises';
import type { Deps } from '../oauth/deps.ts';
import { canSign } from '../oauth/signing-keys/signing-keys.ts';
import { NotPrimary, StoreMoved } from '../platform/db/db.ts';
import { isDiskFull, isDiskReadOnly } from '../platform/db/open.ts';

/** Why a node should not receive requests. */
export const unreadySentences = {
  starting: 'Not ready: this node is starting.',
  stopping: 'Not ready: this node is shutting down.',
  store: 'Not ready: the database does not respond.',
  standby: 'Not ready: this node reaches a standby of the database, and not the primary.',
  file: 'Not ready: the database file, or its log, was moved, replaced, removed or overwritten, or may not be read. The log says which.',
  signing_keys: 'Not ready: a signing key is missing.',
  disk: 'Not ready: the disk that holds the database is full or read-only.',
};
export type Unready = keyof typeof unreadySentences;

/** `clock`: the clock was set, or differs from that of other nodes. Which of them is right cannot be known, so all stay in use. */
type Warning = 'clock';

export type Health = { reasons: readonly Unready[]; warnings: readonly Warning[] };

export type ReadHealth = () => Promise<Health>;

const answerMs = 2000;
const freshForMs = 1000;

/** The store is read at most once a second and once at a time, since anyone may ask. */
export function openHealth(deps: Pick<Deps, 'db' | 'clock' | 'config' | 'timekeeper' | 'log'>): ReadHealth {
  let askedAt = Number.NEGATIVE_INFINITY;
  let isAsking = false;
  let answer: Promise<readonly Unready[]> = Promise.resolve([]);
  return async () => {
    if (!isAsking && Math.abs(deps.clock() - askedAt) >= freshForMs) {
      askedAt = deps.clock();
      isAsking = true;
      const asked = findReasons(deps).finally(() => {
        isAsking = false;
      });
      answer = Promise.race([asked, sleep(answerMs, ['store'] as const, { ref: false })]);
    }
    return { reasons: await answer, warnings: deps.timekeeper.isSettled() ? [] : ['clock'] };
  };
}

async function findReasons({ db, config, log }: Pick<Deps, 'db' | 'config' | 'log'>): Promise<readonly Unready[]> {
  const disk = isDiskReadOnly(config) || (await isDiskFull(config)) ? (['disk'] as const) : [];
  try {
    return (await canSign(db)) ? disk : ['signing_keys', ...disk];
  } catch (error) {
    const reason = error instanceof NotPrimary ? 'standby' : error instanceof StoreMoved ? 'file' : 'store';
    log.warn({ err: error }, unreadySentences[reason]);
    return [reason, ...disk];
  }
}
