import assert from 'node:assert/strict';
import { newSecretRow } from '../../src/clients/manage-secrets.ts';
import { insertSecret } from '../../src/clients/store.ts';
import { now } from '../../src/platform/clock.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, basic, type RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { writeOf } from '../support/services.ts';
import { type Signet, testSignet } from '../support/signet.ts';

/** Posts with exactly these headers; no credentials are added. */
const post = (signet: Signet, fields: Record<string, string | undefined>, headers: Record<string, string> = {}) =>
  signet.postForm('/oauth/token', { grant_type: 'refresh_token', ...fields }, headers);

const rawBasic = (text: string | Buffer) => `Basic ${Buffer.from(text).toString('base64')}`;

testSignet('client authentication', { env: { SIGNET_TRUST_PROXY: '1' } }, async ({ signet, t }) => {
  const client = await signet.registerClient();
  const other = await signet.registerClient();
  const publicClient = await signet.registerClient({ client_type: 'public' });
  const user = await signet.signedInUser();
  let { refresh_token } = await user.obtainTokens(client);
  const client_secret = client.client_secret!;

  /** The token still refreshes, so what was refused before has changed nothing. */
  const stillWorks = async () => {
    ({ refresh_token } = tokensOf(await client.refresh(refresh_token)));
  };

  await t.test('CA-01: the same credentials in two ways count as one, at every endpoint', async () => {
    const authorization = basic(client.client_id, client_secret);
    const { client_id } = client;
    for (const body of [{ client_id, client_secret }, { client_secret }]) {
      ({ refresh_token } = tokensOf(await post(signet, { refresh_token, ...body }, { authorization })));
      const asked = { token: refresh_token, ...body };
      assert.equal((await signet.postForm('/oauth/introspect', asked, { authorization })).json?.active, true);
      const revoked = await signet.postForm('/oauth/revoke', { ...asked, token: 'rt_x' }, { authorization });
      assert.equal(revoked.status, 200);
    }
    for (const token_endpoint_auth_method of ['client_secret_basic', 'client_secret_post'] as const) {
      const { client_id, client_secret } = await signet.registerClient({ token_endpoint_auth_method });
      const twice = { refresh_token: 'rt_x', client_id, client_secret: client_secret! };
      const answer = await post(signet, twice, { authorization: basic(client_id, client_secret!) });
      assertRefused(answer, 400, 'invalid_grant'); // authenticated
    }
    const tokens = await user.obtainTokens(publicClient);
    const withoutSecret = { authorization: basic(publicClient.client_id, '') };
    const named = { refresh_token: tokens.refresh_token, client_id: publicClient.client_id };
    const again = tokensOf(await post(signet, named, withoutSecret));
    tokensOf(await post(signet, { refresh_token: again.refresh_token }, withoutSecret));
  });

  await t.test('CA-01: credentials in two ways that differ are refused, at every endpoint', async () => {
    const authorization = basic(client.client_id, client_secret);
    const both = { client_id: client.client_id, client_secret: `${client_secret}x` };
    for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke']) {
      const sent = { grant_type: 'refresh_token', refresh_token, token: refresh_token };
      for (const headers of [{ authorization }, { authorization: basic(client.client_id, '') }])
        assertRefused(await signet.postForm(path, { ...sent, ...both }, headers), 400, 'invalid_request');
      const named = { ...sent, client_id: other.client_id };
      assertRefused(await signet.postForm(path, named, { authorization }), 400, 'invalid_request');
    }
    const bearer = { authorization: 'Bearer anything' };
    assertRefused(
      await post(signet, { refresh_token, client_id: client.client_id, client_secret }, bearer),
      400,
      'invalid_request',
    );
    await stillWorks();
  });

  await t.test('CA-01: what comes twice, in the URL, or not as a form is refused', async () => {
    const send = (path: string, body: string, type = 'application/x-www-form-urlencoded') =>
      user.browser.send(path, { method: 'POST', body, headers: { 'content-type': type } });
    const form = `grant_type=refresh_token&refresh_token=${refresh_token}&client_id=${client.client_id}`;
    const twice = await send('/oauth/token', `${form}&client_secret=${client_secret}&client_secret=${client_secret}`);
    assertRefused(twice, 400, 'invalid_request');
    const inUrl = await send(`/oauth/token?client_secret=${client_secret}`, form);
    assertRefused(inUrl, 400, 'invalid_request');
    const json = await send('/oauth/token', JSON.stringify({ client_secret }), 'application/json');
    assertRefused(json, 400, 'invalid_request');
    await stillWorks();
  });

  await t.test('CA-01: an endpoint takes the methods that discovery lists for it, and no other', async () => {
    const { json: discovery = {} } = await user.browser.get('/.well-known/openid-configuration');
    const service = await signet.newService({ permissions: ['tokens:introspect'] });
    const withSecret: readonly [string, RegisteredClient | typeof service][] = [
      ['client', client],
      ['service', service],
    ];
    for (const endpoint of ['token', 'introspection', 'revocation'] as const) {
      const path = new URL(String(discovery[`${endpoint}_endpoint`])).pathname;
      const listed = discovery[`${endpoint}_endpoint_auth_methods_supported`] as string[];
      const answerTo = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
        const sent = { grant_type: 'refresh_token', refresh_token: 'rt_x', token: 'rt_x', ...fields };
        return (await signet.postForm(path, sent, headers)).status;
      };
      for (const [who, { client_id, client_secret }] of withSecret) {
        if (who === 'service' && endpoint !== 'introspection') {
          // Its secret is right, so it is told what it is.
          const sent = { grant_type: 'client_credentials', token: 'rt_x' };
          const refused = await signet.postForm(path, sent, { authorization: basic(client_id, client_secret!) });
          assertRefused(refused, 401, 'invalid_client');
          assert.match(String(refused.json?.error_description), /^A service credential gets no tokens/);
          continue;
        }
        const secret = client_secret!;
        const byMethod = {
          client_secret_basic: await answerTo({}, { authorization: basic(client_id, secret) }),
          client_secret_post: await answerTo({ client_id, client_secret: secret }),
        };
        for (const [method, status] of Object.entries(byMethod))
          assert.equal(status !== 401, listed.includes(method), `${who} by ${method} at ${endpoint}`);
      }
      const nobody = { client_id: publicClient.client_id };
      const emptySecret = { authorization: basic(publicClient.client_id, '') };
      for (const status of [await answerTo(nobody), await answerTo({}, emptySecret)])
        assert.equal(status !== 401, listed.includes('none'), `none at ${endpoint}`);
    }
  });

  await t.test('CA-02: the secret is taken from Basic and from the body', async () => {
    await stillWorks(); // Basic, with client_id beside it
    const alone = await post(signet, { refresh_token }, { authorization: basic(client.client_id, client_secret) });
    refresh_token = tokensOf(alone).refresh_token;
    const inBody = await post(signet, { refresh_token, client_id: client.client_id, client_secret });
    refresh_token = tokensOf(inBody).refresh_token;
  });

  await t.test('CA-02: both halves of Basic are form-decoded, so a secret may hold any character', async () => {
    const awkward = 'a:b%c+d&é=/ f';
    const secret = { ...newSecretRow(awkward, now(signet.deps)), secret_id: 'sec_awkward' };
    const row = { ...secret, client_id: client.client_id };
    assert.equal((await signet.deps.db.shared.run(insertSecret(row))).changes, 1);
    signet.deps.clients.forget(client.client_id);

    const encoded = { authorization: basic(client.client_id, awkward) };
    refresh_token = tokensOf(await post(signet, { refresh_token }, encoded)).refresh_token;
    const plus = { authorization: rawBasic(`${client.client_id}:a%3Ab%25c%2Bd%26%C3%A9%3D%2F+f`) };
    refresh_token = tokensOf(await post(signet, { refresh_token }, plus)).refresh_token;
    const inBody = { refresh_token, client_id: client.client_id, client_secret: awkward };
    refresh_token = tokensOf(await post(signet, inBody)).refresh_token;
    const unencoded = { authorization: rawBasic(`${client.client_id}:${awkward}`) };
    assertRefused(await post(signet, { refresh_token }, unencoded), 401, 'invalid_client');
  });

  await t.test('CA-03: whatever is wrong with Basic is 401 with a challenge, never a failure of ours', async () => {
    const id = client.client_id;
    const wrong = [
      'Basic',
      'Basic ',
      'Basic !!!!',
      'Basic a',
      rawBasic('no colon'),
      rawBasic(':'),
      rawBasic(`${id}:`),
      rawBasic(`:${client_secret}`),
      rawBasic(`${id}:${client_secret}x`),
      rawBasic(`${id}:${client_secret.toUpperCase()}`),
      rawBasic(`${id}\0:${client_secret}`),
      rawBasic(`${id}:${client_secret}\0`),
      rawBasic(Buffer.from([0xff, 0xfe, 0x3a, 0xff])),
      rawBasic(`${id}:%`),
      rawBasic(`cl_unknown:${client_secret}`),
      rawBasic(`${"' or 1=1 --"}:x`),
      rawBasic(`__proto__:x`),
      rawBasic(`${id}:${'x'.repeat(8_000)}`),
      `Digest username="${id}"`,
      `Bearer ${client_secret}`,
    ];
    for (const authorization of wrong) {
      const answer = await post(signet, { refresh_token }, { authorization });
      assertRefused(answer, 401, 'invalid_client');
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic realm="/, authorization.slice(0, 40));
    }
    const huge = await post(signet, { refresh_token }, { authorization: rawBasic('x'.repeat(48_000)) });
    assertRefused(huge, 431, 'headers_too_large');
    const lowerCase = basic(id, client_secret).replace('Basic', 'bAsIc');
    refresh_token = tokensOf(await post(signet, { refresh_token }, { authorization: lowerCase })).refresh_token;
    signet.clock.advance(61); // the failures above are forgotten
  });

  await t.test('CA-04: a confidential client without its secret is refused, even with the right verifier', async () => {
    const nameOnly: RegisteredClient = client.with({ client_secret: null });
    const code = await user.authorize(client);
    for (const changes of [{}, { client_secret: '' }]) {
      const answer = await nameOnly.redeem(code, changes);
      assertRefused(answer, 401, 'invalid_client');
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic /);
    }
    assertRefused(await nameOnly.refresh(refresh_token), 401, 'invalid_client');
    assertRefused(await nameOnly.redeem(code, { client_id: undefined }), 400, 'invalid_request');
    tokensOf(await client.redeem(code)); // none of it has touched the code
    await stillWorks();
  });

  await t.test('CA-04: a public client has no secret to be right about', async () => {
    const tokens = await user.obtainTokens(publicClient);
    for (const secret of ['anything', client_secret]) {
      const changes = { client_secret: secret };
      assertRefused(await publicClient.refresh(tokens.refresh_token, changes), 401, 'invalid_client');
    }
    tokensOf(await publicClient.refresh(tokens.refresh_token));
  });

  await t.test('CA-05: guesses at a secret block only their own address', async () => {
    const guess = (secret: string, address: string) =>
      post(
        signet,
        { refresh_token },
        { authorization: basic(client.client_id, secret), 'x-forwarded-for': `203.0.113.250, ${address}` },
      );
    const answers = [];
    for (let tries = 0; tries < 30; tries += 1) answers.push(await guess(`cs_wrong${tries}`, '198.51.100.7'));
    const refusals = answers.map(({ status }) => status);
    assert.deepEqual(refusals, [...new Array(20).fill(401), ...new Array(10).fill(429)]);
    assertRefused(answers.at(-1)!, 429, 'rate_limited');
    assert.match(answers.at(-1)!.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.equal((await guess(client_secret, '198.51.100.7')).status, 429);
    refresh_token = tokensOf(await guess(client_secret, '198.51.100.8')).refresh_token;

    signet.clock.advance(61);
    refresh_token = tokensOf(await guess(client_secret, '198.51.100.7')).refresh_token;
  });

  await t.test('CA-05: guesses at the secret of a service block only their own address', async () => {
    const service = await signet.newService();
    let version = 0;
    const write = async (client_secret: string, address: string) => {
      version += 1;
      const answer = await fetch(`${signet.url}/v1/entitlements`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: basic(service.client_id, client_secret),
          'x-forwarded-for': address,
        },
        body: JSON.stringify(writeOf(user.user_id, { version })),
      });
      return [
        answer.status,
        ((await answer.json()) as Record<string, unknown>).error,
        answer.headers.get('retry-after'),
      ];
    };
    const guesser = '198.51.100.9';
    for (let tries = 0; tries < 20; tries += 1) {
      assert.deepEqual(await write(`ss_wrong${tries}`, guesser), [401, 'invalid_client', null]);
    }
    assert.deepEqual(await write('ss_wrong', guesser), [429, 'rate_limited', '60']);
    assert.deepEqual(await write(service.client_secret, guesser), [429, 'rate_limited', '60']);
    assert.equal((await write(service.client_secret, '198.51.100.10'))[0], 200);
    signet.clock.advance(61);
    assert.equal((await write(service.client_secret, guesser))[0], 200);
  });

  await t.test('CA-05: an unknown client makes no rows, however often it is tried', async () => {
    const rows = () => plain(signet.deps.db).all('select counter_key from failure_counters');
    const before = (await rows()).length;
    for (let tries = 0; tries < 25; tries += 1) {
      const authorization = basic(`cl_${tries}`, 'cs_wrong');
      assertRefused(await post(signet, { refresh_token }, { authorization }), 401, 'invalid_client');
    }
    assert.equal((await rows()).length, before);
  });
});
