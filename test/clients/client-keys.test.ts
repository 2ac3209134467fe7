import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { keySetOf, newKeyPair } from '../support/client-keys.ts';
import { preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import { testSignet } from '../support/signet.ts';

const path = '/v1/oauth/clients';
const valid = { name: 'Test product', client_type: 'confidential', redirect_uris: ['https://rp.test/cb'] };
const pair = newKeyPair('ES256', 'first');
const secretHalf = pair.privateKey.export({ format: 'jwk' });

testSignet('keys of a client', async ({ signet, t }) => {
  const owner = await signet.signedInUser();
  const administrator = await signet.signedInUser({ role: 'admin' });
  await administrator.enableTotp();
  const thumbprint = await calculateJwkThumbprint(pair.jwk as JWK);

  await t.test('are registered without a secret, read by the owner, and compared by a reviewer', async () => {
    const body = { ...valid, token_endpoint_auth_method: 'private_key_jwt', jwks: keySetOf(pair) };
    const { json: registered } = await owner.browser.postJson(path, body);
    assert.equal(registered!.client_secret, null);
    const own = `${path}/${registered!.client_id}`;
    assert.deepEqual((await owner.browser.get(own)).json!.jwks, keySetOf(pair));
    const review = `/admin/clients/${registered!.client_id}`;
    const page = await administrator.browser.get(review);
    assert.ok(page.text.includes(thumbprint) && page.text.includes('kid first'), 'the page of the review');
    const approve = `/v1/admin/clients/${registered!.client_id}/approve`;
    assert.equal((await administrator.browser.postJson(approve, { revision: 1, consent: 'skip' })).status, 200);

    const second = newKeyPair('EdDSA', 'second');
    const edited = await owner.browser.patch(own, { jwks: keySetOf(pair, second) });
    assert.deepEqual(edited.json!.pending_change, { jwks: keySetOf(pair, second) });
    const compared = await administrator.browser.get(review);
    assert.match(
      compared.text,
      new RegExp(`kid second[^<]*(<[^>]+>)*[^<]*</code> <strong>${message('admin.diff.added')}`),
    );
    const events = await signet.auditLog({ target: String(registered!.client_id) });
    for (const { before_state, after_state } of events)
      assert.doesNotMatch(`${before_state}${after_state}`, /"x":|"crv":/, 'the log has thumbprints');
    assert.ok(events.some(({ after_state }) => after_state?.includes(thumbprint)));

    const reject = `/v1/admin/clients/${registered!.client_id}/reject`;
    const answer = await administrator.browser.postJson(reject, { revision: 2, reason: 'Which key is this?' });
    assert.equal(answer.status, 200, answer.text);
    await owner.browser.patch(own, { jwks: null, jwks_uri: 'https://keys.test/jwks.json' });
    const again = await administrator.browser.get(review);
    assert.ok(again.text.includes('keys.test'));
    const { risks } = (await administrator.browser.get(`/v1/admin/clients/${registered!.client_id}`)).json as {
      risks: { code: string; severity: string }[];
    };
    assert.deepEqual(risks.find(({ code }) => code === 'new_key_host')?.severity, 'warning');
  });

  await t.test('in the form: as text that is JSON, and back', async () => {
    const { browser } = owner;
    const fields = {
      ...{ name: 'By the form', client_type: 'confidential', application_type: 'web' },
      ...{ redirect_uris: 'https://rp.test/cb', 'scope openid': 'on', id_token_signed_response_alg: 'EdDSA' },
      token_endpoint_auth_method: 'private_key_jwt',
    };
    const broken = await browser.post('/developer/register', { ...fields, jwks: '{"keys": [' });
    assert.ok(broken.text.includes(message('problem.jwks.json')));
    assert.match(broken.text, /<textarea id="jwks"[^>]*>\s*\{"?(&quot;|&#34;|")keys/);
    const missing = await browser.post('/developer/register', fields);
    assert.ok(missing.text.includes(message('problem.client.jwks_uri.missing')));
    const done = await browser.post('/developer/register', { ...fields, jwks: JSON.stringify(keySetOf(pair)) });
    assert.match(done.location ?? '', /done=registered$/, done.text);
    const [client_page = ''] = done.location!.split('?');
    const secrets = await browser.get(`${client_page}/secrets`);
    assert.ok(secrets.text.includes(message('developer.secrets.key')));
    const shown = (await browser.get(`${client_page}?library=openid-client`)).text;
    assert.ok(shown.includes(thumbprint) && shown.includes('/relying-parties/client-keys'));
    assert.match(shown, /PrivateKeyJwt/);
    assert.doesNotMatch(shown, /OIDC_CLIENT_SECRET/);
    const { text: untried } = await browser.get(`${client_page}?library=passport`);
    assert.match(untried, sentence('developer.gap.key', { library: "Passport with openid-client's strategy" }));
    const edit = await browser.get(`${client_page}/edit`);
    assert.ok(edit.text.includes(pair.jwk.x!), 'the form has the keys themselves');
  });

  await t.test(
    'KJ-07: a private key is refused with the advice to replace it, and kept and repeated nowhere',
    async () => {
      const jwks = { keys: [secretHalf] };
      const { d = '' } = secretHalf;
      const answers = [
        await owner.browser.postJson(path, { ...valid, jwks }),
        await owner.browser.postJson(`${path}/check`, { jwks }),
        await owner.browser.post('/developer/register', {
          ...valid,
          redirect_uris: 'https://rp.test/cb',
          jwks: JSON.stringify(jwks),
        }),
      ];
      assertRefused(answers[0]!, 400, 'invalid_request');
      for (const { text } of answers) {
        assert.match(text, /private key/);
        assert.ok(!text.includes(d), 'an answer repeats it');
      }
      assert.ok(!signet.logLines.join('').includes(d), 'the log has it');
      const stored = await plain(signet.deps.db).all<{ n: number }>(
        `select count(*) as n from clients where jwks like '%"d"%'`,
      );
      assert.equal(Number(stored[0]!.n), 0);
    },
  );
});

onBothEngines(
  'signet clients create and edit take keys from a file or as JSON, and show their thumbprints',
  async (t, engine) => {
    const env = await preparedSettings(t, engine);
    const file = join(await scratchFolder('keys'), 'jwks.json');
    await writeFile(file, JSON.stringify(keySetOf(pair)));
    const create = ['clients', 'create', '--name', 'App', '--redirect-uri', 'https://rp.test/cb'];
    const asked = [...create, '--auth-method', 'private_key_jwt', '--approve'];
    const { client_id, client_secret, jwks } = await succeed([...asked, '--jwks', file], env);
    assert.deepEqual([client_secret, jwks], [null, keySetOf(pair)]);
    const shown = await runCommand(['clients', 'show', String(client_id)], { env });
    assert.ok(shown.stdout.includes(await calculateJwkThumbprint(pair.jwk as JWK)), shown.stdout);
    const edit = ['clients', 'edit', String(client_id)];
    const moved = [...edit, '--jwks', '', '--jwks-uri', 'https://rp.test/jwks.json', '--approve'];
    assert.partialDeepStrictEqual(await succeed(moved, env), { jwks: null, jwks_uri: 'https://rp.test/jwks.json' });
    const typed = JSON.stringify(keySetOf(newKeyPair()));
    assert.equal((await succeed([...edit, '--jwks-uri', '', '--jwks', typed, '--approve'], env)).jwks_uri, null);
    const { code, stderr } = await runCommand([...edit, '--jwks', `${file}.missing`], { env });
    assert.deepEqual([code, /cannot be read/.test(stderr)], [2, true]);
    await refused([...edit, '--jwks', JSON.stringify({ keys: [secretHalf] })], env, /private key/);
    await refused(asked, env, /needs public keys/);
  },
);
