import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../support/browser.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';

/** Two administrators, who are in different parts, and no other one. */
async function twoAdministrators(signet: Signet): Promise<[TestUser, TestUser]> {
  const { deps } = signet;
  await plain(deps.db).run(`update users set role = 'user'`);
  const one = await signet.signedInUser({ role: 'admin' });
  for (;;) {
    const other = await signet.newUser({ role: 'admin' });
    if (deps.db.of(one.user_id) !== deps.db.of(other.user_id)) {
      await other.signIn();
      return [one, other];
    }
    await plain(deps.db).run(`update users set role = 'user' where user_id = $1`, [other.user_id]);
  }
}

type Act = (signet: Signet, by: TestUser, whom: TestUser) => Promise<Answer>;

const send = (signet: Signet, by: TestUser, method: string, path: string, body: object) =>
  by.browser.send(path, {
    method,
    headers: { origin: signet.url, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Each way in which an administrator ceases to be one. */
const ways: Readonly<Record<string, Act>> = {
  'the role, by API': (signet, by, whom) =>
    send(signet, by, 'PUT', `/v1/admin/users/${whom.user_id}/role`, { role: 'user' }),
  'the role, in the console': (_, by, whom) =>
    by.browser.post(`/admin/users/${whom.user_id}/role`, { role: 'support', reason: 'Has left.' }),
  'several at once, in the console': (_, by, whom) =>
    by.browser.post('/admin/users/bulk', {
      action: 'disable',
      [`user:${whom.user_id}`]: 'on',
      reason: 'Has left.',
    }),
  'suspended, by API': (signet, by, whom) =>
    send(signet, by, 'POST', `/v1/admin/users/${whom.user_id}/disable`, { reason: 'Has left.' }),
  'deleted, by API': (signet, by, whom) =>
    send(signet, by, 'DELETE', `/v1/admin/users/${whom.user_id}`, { email: whom.email, reason: 'Has left.' }),
  'deleted by themselves': (signet, _, whom) => send(signet, whom, 'DELETE', '/v1/me', { email: whom.email }),
};

const administrators = async ({ deps }: Signet): Promise<number> => {
  const active = deps.db.parts.map(({ query }) =>
    query({ sql: `select user_id from users where role = 'admin' and disabled_at is null` }),
  );
  return (await Promise.all(active)).flat().length;
};

const pairs = Object.entries(ways).map(([first, act], place, all) => {
  const [second, actOfOther] = all[(place + 1) % all.length]!;
  return { name: `${first}, and ${second}`, act, actOfOther };
});

test('of two administrators who take each other away in the same instant, one is left', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres', cells: 4, env: { SIGNET_RATE_LIMITS: 'off' } });
  for (const { name, act, actOfOther } of pairs) {
    await t.test(name, async () => {
      const [one, other] = await twoAdministrators(signet);
      const held = holdNextCall(signet.deps.db, /update users set (role|disabled_at|email) = /);
      const taken = act(signet, one, other);
      await held.reached;
      const late = await actOfOther(signet, other, one);
      assert.equal(await administrators(signet), 2, late.text);
      held.release();
      const answer = await taken;
      assert.ok(answer.status < 400, answer.text);
      assert.equal(await administrators(signet), 1);
    });
  }
  const [one, other] = await twoAdministrators(signet);
  await Promise.all(Object.values(ways).flatMap((act) => [act(signet, one, other), act(signet, other, one)]));
  assert.equal(await administrators(signet), 1, 'all ways at once');
});
