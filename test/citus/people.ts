import assert from 'node:assert/strict';
import type { Answer } from '../support/browser.ts';
import type { RegisteredClient, Tokens } from '../support/relying-party.ts';
import type { Signet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { placeOfUser } from './cluster.ts';

/** Somebody who is signed in, with the newest tokens that were answered. */
export type Person = { user: TestUser; user_id: string; tokens: Tokens; client: RegisteredClient };

export async function signedInPeople(signet: Signet, count: number): Promise<Person[]> {
  const client = await signet.registerClient();
  const people: Person[] = [];
  for (let n = 0; n < count; n += 1) {
    const user = await signet.signedInUser();
    const tokens = await user.obtainTokens(client, { scope: 'openid offline_access' });
    people.push({ user, user_id: user.user_id, tokens, client });
  }
  return people;
}

export const peopleAt = (
  signet: Signet,
  people: readonly Person[],
  server: string,
): [there: Person[], elsewhere: Person[]] => [
  people.filter(({ user_id }) => placeOfUser(signet, user_id) === server),
  people.filter(({ user_id }) => placeOfUser(signet, user_id) !== server),
];

/** Refreshes with the newest token, whose successor is kept. @returns the answer, which is the new tokens or 503. */
export async function refresh(person: Person): Promise<Answer> {
  const answer = await person.client.refresh(person.tokens.refresh_token);
  assert.ok([200, 503].includes(answer.status), `${answer.status} ${answer.text}`);
  if (answer.status === 200) person.tokens = answer.json as Tokens;
  return answer;
}

/** All of them ask, one request after the other each, until `isOver`. @returns how many answers there were of each status. */
export async function keepAsking(signet: Signet, people: readonly Person[], isOver: () => boolean) {
  const counts = { 200: 0, 503: 0 };
  let slowestMs = 0;
  const one = async (person: Person): Promise<void> => {
    const startedAt = performance.now();
    const refreshed = await refresh(person);
    const read = await signet.userinfo(person.tokens.access_token);
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    for (const { status, text } of [refreshed, read]) {
      assert.ok(status === 200 || status === 503, `${status} ${text}`);
      counts[status] += 1;
    }
    return isOver() ? undefined : one(person);
  };
  await Promise.all(people.map(one));
  return { ...counts, slowestMs: Math.round(slowestMs) };
}
