import type { Asker } from '../../src/authentication/credentials/hash-queue.ts';
import { openPasswordHasher, type PasswordHasher } from '../../src/authentication/credentials/password-hash.ts';
import { type Limits, readLimits } from '../../src/platform/limits/limit-settings.ts';

/** The hasher of a server with the default limits. To measure how long hashes take is for tests of the queue alone. */
export const newHasher = (
  limits: Partial<Limits> = {},
  options: Partial<Parameters<typeof openPasswordHasher>[1]> = {},
): PasswordHasher =>
  openPasswordHasher({ ...readLimits((_, fallback) => fallback), ...limits }, { monotonic: () => 0, ...options });

/**
 * The real hasher, asked once a process for each question: a suite that signs in thousands of times with a handful of
 * passwords would spend most of its time on the same hashes. It has room for many of one account, in tests of what happens
 * after them. Tests of hashing itself, and of what happens while one is under way, take the real one.
 */
export function rememberingHasher(): PasswordHasher {
  const real = newHasher({ passwordsAtOnce: 64, passwordsAtOncePerAddress: 64 }, { maxWaitMs: 60_000 });
  const answers = new Map<string, Promise<unknown>>();
  const once = <Answer>(question: unknown[], ask: () => Promise<Answer>): Promise<Answer> => {
    const key = JSON.stringify(question);
    const answer = (answers.get(key) as Promise<Answer> | undefined) ?? ask();
    answers.set(key, answer);
    answer.catch(() => answers.delete(key)); // a refusal is for now
    return answer;
  };
  const hash = (password: string, asker: Asker) => once(['hash', password], () => real.hash(password, asker));
  const verify = (password: string, stored: string | undefined, asker: Asker) =>
    once(['verify', password, stored], () => real.verify(password, stored, asker));
  return { hash, verify };
}
