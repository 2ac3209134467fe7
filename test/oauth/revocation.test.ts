import assert from 'node:assert/strict';
import { digest } from '../../src/platform/ids.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, type RegisteredClient, type Tokens } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/** What an administrator stops on one node is stopped on every other one within a second (issue 4). */

type Stopped = { user: TestUser; client: RegisteredClient; session_id: string; grant_id: string };
type Stop = {
  /** Method, address and body, under `/v1/admin`. */
  call(stopped: Stopped): [string, string, object?];
  /** What the user's browser gets at authorize: nothing, a sign-in page, or still a code. */
  authorize: 'refused' | 'sign_in' | 'code';
  /** Whether a code that was given before can still be redeemed. */
  redeems?: true;
};

const reason = { reason: 'Reported by its users.' };
const stops: Record<string, Stop> = {
  'a client suspended': {
    call: ({ client }) => ['POST', `/clients/${client.client_id}/suspend`, reason],
    authorize: 'refused',
  },
  'a client deleted': {
    call: ({ client }) => ['DELETE', `/clients/${client.client_id}`],
    authorize: 'refused',
  },
  'a user disabled': {
    call: ({ user }) => ['POST', `/users/${user.user_id}/disable`, reason],
    authorize: 'sign_in',
  },
  'a user signed out': {
    call: ({ user }) => ['POST', `/users/${user.user_id}/sign-out`],
    authorize: 'sign_in',
  },
  'factors reset': {
    call: ({ user }) => ['POST', `/users/${user.user_id}/reset-factors`, reason],
    authorize: 'sign_in',
  },
  'a session ended': {
    call: ({ user, session_id }) => ['DELETE', `/users/${user.user_id}/sessions/${session_id}`],
    authorize: 'sign_in',
  },
  'a grant ended': {
    call: ({ grant_id }) => ['DELETE', `/grants/${grant_id}`],
    authorize: 'code', // this access ended; the user may come back
    redeems: true,
  },
};

testSignet(
  'what an administrator stops is stopped on the other node within a second',
  { env: { SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet, t }) => {
    const beside = await startSignet(t, { beside: signet });
    const administrator = await signet.signedInUser({ role: 'admin' });
    const service = await signet.newService({ permissions: ['tokens:introspect'], products: [] });
    for (const [what, stop] of Object.entries(stops)) {
      await t.test(what, async () => {
        const client = await signet.registerClient();
        const user = await signet.signedInUser();
        const tokens = await user.obtainTokens(client);
        const stopped = { user, client, ...(await idsOf(signet, user)) };
        const code = await user.authorize(client);
        const elsewhere = beside.newBrowser();
        for (const [name, value] of user.browser.cookies) elsewhere.cookies.set(name, value);
        const given = { beside, client, tokens, authorization: service.authorization };
        assert.equal(await isActive(given), true, 'before');
        assert.equal((await beside.userinfo(tokens.access_token)).status, 200);
        const second = await elsewhere.get(client.authorizePath());
        assert.match(second.location, /[?&]code=/, 'the other node serves them both');

        const [method, path, body] = stop.call(stopped);
        const answer = await administrator.browser.send(`/v1/admin${path}`, {
          method,
          headers: body ? { 'content-type': 'application/json' } : {},
          body: body && JSON.stringify(body),
        });
        assert.ok(answer.status === 200 || answer.status === 204, answer.text);
        signet.clock.advance(1);

        assertRefused(await beside.userinfo(tokens.access_token), 401, 'invalid_token');
        assert.equal(await isActive(given), false);
        assert.notEqual((await client.at(beside).refresh(tokens.refresh_token)).status, 200, 'refreshed');
        assert.equal((await client.at(beside).redeem(code)).status === 200, stop.redeems === true, 'redeemed');
        const again = await elsewhere.get(client.authorizePath());
        assert.equal(outcomeOf(again.location), stop.authorize, `${again.status} ${again.text}`);
      });
    }
  },
);

testSignet(
  'a reinstated client and an enabled user begin anew: what was ended stays ended',
  { env: { SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet, t }) => {
    const beside = await startSignet(t, { beside: signet });
    const { browser } = await signet.signedInUser({ role: 'admin' });
    const client = await signet.registerClient();
    const user = await signet.signedInUser();
    const first = await user.obtainTokens(client);
    const post = async (path: string, body: object) =>
      assert.equal((await browser.postJson(`/v1/admin${path}`, body)).status, 200, path);

    const code = await user.authorize(client);
    const written = await takeOut(signet, code);
    await post(`/clients/${client.client_id}/suspend`, reason);
    await putBack(signet, written);
    await post(`/clients/${client.client_id}/reinstate`, {});
    signet.clock.advance(1);
    assertRefused(await beside.userinfo(first.access_token), 401, 'invalid_token');
    assertRefused(await client.at(beside).redeem(code), 400, 'invalid_grant');
    const second = await user.obtainTokens(client);
    assert.equal((await beside.userinfo(second.access_token)).status, 200);

    await post(`/users/${user.user_id}/disable`, reason);
    assert.equal((await user.signIn()).status, 401);
    await post(`/users/${user.user_id}/enable`, {});
    assertRefused(await beside.userinfo(second.access_token), 401, 'invalid_token');
    assert.equal((await user.browser.get('/v1/oauth/clients')).status, 401, 'the session stays ended');
    assert.equal((await user.signIn()).status, 303);
  },
);

type Row = Record<string, string | number | null>;

/**
 * With {@link putBack}: what a suspension finds when another node has begun to write a code and not committed it yet,
 * and what is there a moment later.
 */
async function takeOut({ deps }: Signet, code: string): Promise<Row> {
  const [row] = await plain(deps.db).all<Row>('delete from grants where code_hash = $1 returning *', [digest(code)]);
  return { ...(row ?? assert.fail('no such code')) };
}

async function putBack({ deps }: Signet, row: Row): Promise<void> {
  const places = Object.keys(row).map((_, place) => `$${place + 1}`);
  await plain(deps.db).run(
    `insert into grants (${Object.keys(row).join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  );
}

async function idsOf({ deps }: Signet, { user_id }: TestUser) {
  const [session] = await plain(deps.db).all<{ session_id: string }>(
    'select session_id from sessions where user_id = $1',
    [user_id],
  );
  const [grant] = await plain(deps.db).all<{ grant_id: string }>('select grant_id from grants where user_id = $1', [
    user_id,
  ]);
  assert.ok(session && grant);
  return { ...session, ...grant };
}

/** Asked by a back end, which no suspension of the client stops from asking. */
async function isActive(given: { beside: Signet; tokens: Tokens; authorization: string }): Promise<unknown> {
  const fields = { token: given.tokens.access_token };
  const headers = { authorization: given.authorization };
  const answer = await given.beside.postForm('/oauth/introspect', fields, headers);
  assert.equal(answer.status, 200, answer.text);
  return answer.json?.active;
}

function outcomeOf(location: string): Stop['authorize'] {
  if (location === '' || /[?&]error=/.test(location)) return 'refused';
  return /[?&]code=/.test(location) ? 'code' : 'sign_in';
}
