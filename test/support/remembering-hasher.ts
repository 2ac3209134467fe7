import { type PasswordHasher, processHasher } from '../../src/authentication/credentials/password-hash.ts';

/**
 * The real hasher, asked once a process for each question: a suite that signs in thousands of times with a handful of
 * passwords would spend most of its time on the same hashes. Tests of hashing itself, and of what happens while one is
 * under way, take the real one.
 */
export function rememberingHasher(): PasswordHasher {
  const answers = new Map<string, Promise<unknown>>();
  const once = <Answer>(question: unknown[], ask: () => Promise<Answer>): Promise<Answer> => {
    const key = JSON.stringify(question);
    const answer = (answers.get(key) as Promise<Answer> | undefined) ?? ask();
    answers.set(key, answer);
    answer.catch(() => answers.delete(key)); // a refusal is for now
    return answer;
  };
  return {
    hash: (password) => once(['hash', password], () => processHasher.hash(password)),
    verify: (password, stored) => once(['verify', password, stored], () => processHasher.verify(password, stored)),
  };
}
