import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../support/browser.ts';
import { freeze, isIn, isOn, onTwoServers } from '../support/two-servers.ts';

/** Once the connections to a server are there again. */
async function answered(ask: () => Promise<Answer>): Promise<Answer> {
  const answer = await ask();
  if (answer.status !== 503) return answer;
  await sleep(100);
  return answered(ask);
}

test('a server that is frozen is noticed by its own users alone, and not one is signed out by it', async (t) => {
  const { signet, second } = await onTwoServers(t);
  assert.match(readFileSync(`/proc/${second.pid}/comm`, 'utf8'), /postgres/);
  const client = await signet.registerClient();
  const people = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const user = await signet.signedInUser();
      const tokens = await user.obtainTokens(client, { scope: 'openid offline_access' });
      return { user, tokens, isThere: isOn(signet, user.user_id, 'second') };
    }),
  );
  const [there, here] = [people.filter((one) => one.isThere), people.filter((one) => !one.isThere)];
  assert.ok(there.length > 0 && here.length > 0, 'of 12 users, some are on each server');
  const thaw = freeze(second);
  try {
    const refused = there.map(async ({ tokens }) => (await client.refresh(tokens.refresh_token)).status);
    for (const one of here) {
      const answer = await client.refresh(one.tokens.refresh_token);
      assert.equal(answer.status, 200, answer.text);
      one.tokens = answer.json as typeof one.tokens;
      assert.equal((await signet.userinfo(one.tokens.access_token)).status, 200);
    }
    const answers = await Promise.all(refused);
    assert.deepEqual(
      answers,
      answers.map(() => 503),
    );
  } finally {
    thaw();
  }
  for (const { tokens } of there) {
    const again = await answered(() => client.refresh(tokens.refresh_token));
    assert.equal(again.status, 200, `a repetition is answered: ${again.text}`);
  }
});

const from = (address: string) => ({ 'x-forwarded-for': address });
/** IP addresses of which some lead to each server. */
const addresses = Array.from({ length: 16 }, (_, n) => `203.0.113.${n}`);

test('while a server is away, users of the others sign in from any address, and newcomers sign up', async (t) => {
  const env = { SIGNET_TRUST_PROXY: '1', SIGNET_LIMIT_PASSWORD_FAILURES: '20' };
  const { signet, second } = await onTwoServers(t, { mail: true, env });
  const client = await signet.registerClient();
  const all = await Promise.all(Array.from({ length: 10 }, () => signet.newUser()));
  const here = all.filter(({ user_id }) => isOn(signet, user_id, 'first'));
  assert.ok(here.length > 0 && here.length < all.length, 'of 10 users, some are on each server');
  assert.equal(new Set(addresses.map((address) => isOn(signet, address, 'first'))).size, 2);
  const newcomers = Array.from({ length: 99 }, (_, n) => `newcomer${n}@example.com`).filter((email) =>
    isIn(signet, signet.deps.placement.bucketOfEmail(email), 'first'),
  );
  await second.stop();
  for (const [n, address] of addresses.entries()) {
    const user = here[n % here.length]!;
    const browser = signet.newBrowser();
    const asked = await browser.get(client.authorizePath(), from(address));
    assert.equal(asked.status, 302, `an authorization request is kept on a server that is there: ${asked.text}`);
    const request = new URL(asked.location!, signet.url).searchParams.get('request')!;
    const wrong = await user.with({ browser, password: 'wrong' }).signIn({ request }, from(address));
    assert.equal(wrong.status, 401, wrong.text);
    const right = await user.with({ browser }).signIn({ request }, from(address));
    assert.equal(right.status, 303, right.text);
    const form_id = /name="form_id" value="([^"]+)"/.exec((await browser.get('/account')).text)![1]!;
    const named = await browser.post('/account', { name: `Name ${n}`, form_id }, from(address));
    assert.equal(named.status, 303, named.text);
    for (const [path, email] of [
      ['/signup', newcomers[n]!],
      ['/reset', user.email],
    ] as const) {
      const answer = await signet.postForm(path, { email }, from(address));
      assert.equal(answer.status, 303, answer.text);
    }
    assert.equal(
      (
        await browser.send('/signin/passkey/options', {
          method: 'POST',
          headers: { origin: signet.url, ...from(address) },
        })
      ).status,
      200,
    );
  }
});

test('who guesses passwords has the tries of one more address while the server is away that counts them', async (t) => {
  const env = { SIGNET_TRUST_PROXY: '1', SIGNET_LIMIT_PASSWORD_ADDRESS_FAILURES: '3' };
  const { signet, second } = await onTwoServers(t, { env });
  const address = addresses.find((one) => isOn(signet, one, 'second'))!;
  const emails = Array.from({ length: 99 }, (_, n) => `guessed${n}@example.com`).filter((email) =>
    isIn(signet, signet.deps.placement.bucketOfEmail(email), 'first'),
  );
  const guess = async () =>
    (await signet.postForm('/signin', { username: emails.pop()!, password: 'a guess' }, from(address))).status;
  const guesses = async (times: number) => {
    const all = [];
    for (let n = 0; n < times; n += 1) all.push(await guess());
    return all;
  };
  assert.deepEqual(await guesses(5), [401, 401, 401, 429, 429]);
  await second.stop();
  assert.deepEqual(await guesses(5), [401, 401, 401, 429, 429]);
});
