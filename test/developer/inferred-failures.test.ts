import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { approveClient } from '../../src/clients/review-client.ts';
import { locales } from '../../src/platform/i18n/translate.ts';
import { message, sentence } from '../support/messages.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/**
 * What fails in the app itself, where Signet sees nothing wrong: its owner is shown what the app did with its codes, and the
 * setting that probably mends it.
 */

/** An owner of this many clients. */
const env = { SIGNET_RATE_LIMITS: 'off' };

type Cause = { cause: string; library_setting: string | null; client_setting: string | null };
type Failure = { stage: string; code: string; count: number; at: number; last_at: number; causes?: Cause[] };

const pathOf = ({ client_id }: Pick<RegisteredClient, 'client_id'>) => `/v1/oauth/clients/${client_id}`;

async function failuresOf({ browser }: TestUser, client: RegisteredClient): Promise<Failure[]> {
  const { json } = await browser.get(`${pathOf(client)}/activity`);
  return (json as { failures: Failure[] }).failures;
}
const inferredOf = async (owner: TestUser, client: RegisteredClient) =>
  (await failuresOf(owner, client)).filter(({ stage }) => stage === 'app');
const causesOf = async (owner: TestUser, client: RegisteredClient) =>
  (await inferredOf(owner, client)).map(({ code, causes = [] }) => [
    code,
    ...causes.map(({ cause, library_setting, client_setting }) =>
      [cause, library_setting ?? client_setting].filter(Boolean).join(': '),
    ),
  ]);

const scope = 'openid email';

/** The app exchanges the code, refuses the tokens, and its user tries again. */
async function fail(signet: Signet, user: TestUser, client: RegisteredClient, changes = {}, times = 3): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await user.obtainTokens(client, { scope, ...changes });
    signet.clock.advance(10);
  }
}

/** The app does not get as far as the token request. */
async function abandon(signet: Signet, user: TestUser, client: RegisteredClient): Promise<void> {
  for (let time = 0; time < 3; time += 1) {
    await user.authorize(client, { scope });
    signet.clock.advance(61);
  }
}

testSignet(
  'an app that refuses its tokens: what was seen, and the setting that mends it',
  { env },
  async ({ signet, t }) => {
    const ada = await signet.signedInUser();
    const register = (library: string | null, changes = {}) =>
      signet.registerClient({ owner: ada, library, redirect_uris: ['https://rp.test/cb'], ...changes });
    const email = { allowed_scopes: ['openid', 'email'] };

    const refused: [string, Parameters<typeof register>, object, string[]][] = [
      [
        'a library without EdDSA',
        ['mozilla-django-oidc', email],
        {},
        ['algorithm: id_token_signed_response_alg', 'session'],
      ],
      [
        'a library that expects RS256 unless it is configured',
        ['openid-client-5', email],
        {},
        ["algorithm: id_token_signed_response_alg: 'EdDSA'", 'session'],
      ],
      [
        'a library that reads the id token alone',
        ['express-openid-connect', { ...email, id_token_signed_response_alg: 'RS256' }],
        {},
        ['claims: claims_in_id_token', 'session'],
      ],
      ['a library that is set right', ['openid-client', email], {}, ['session']],
      [
        'an unknown library',
        [null, { allowed_scopes: ['openid'] }],
        { scope: 'openid', nonce: undefined },
        ['algorithm: id_token_signed_response_alg', 'claims: claims_in_id_token', 'nonce', 'email', 'session'],
      ],
      [
        'a program on a device with a library without EdDSA',
        ['appauth', { ...email, client_type: 'public', application_type: 'native' }],
        {},
        ['algorithm: id_token_signed_response_alg'],
      ],
    ];
    for (const [name, registration, changes, causes] of refused) {
      await t.test(name, async () => {
        const client = await register(...registration);
        const at = Math.floor(signet.clock() / 1000);
        await fail(signet, ada, client, changes);
        assert.deepEqual(await causesOf(ada, client), [['signed_in_again', ...causes]]);
        assert.partialDeepStrictEqual(await inferredOf(ada, client), [{ count: 3, at, last_at: at + 20 }]);
      });
    }

    await t.test('the page says so in English and German, with a link to what is to be edited', async () => {
      const [known, unknown] = [await register('openid-client-5', email), await register(null, email)];
      for (const client of [known, unknown]) await fail(signet, ada, client);
      for (const language of locales) {
        const shown = async ({ client_id }: RegisteredClient) =>
          (await ada.browser.get(`/developer/clients/${client_id}/activity?ui_locales=${language}`)).text;
        const ofKnown = await shown(known);
        assert.match(ofKnown, sentence('failure.signed_in_again', { count: 3, seconds: 30 }, language));
        assert.match(ofKnown, /id_token_signed_response_alg: &#39;EdDSA&#39;|id_token_signed_response_alg: 'EdDSA'/);
        assert.match(ofKnown, /unexpected JWT alg received/);
        assert.ok(ofKnown.includes(`href="/developer/clients/${known.client_id}#setup"`));
        const ofUnknown = await shown(unknown);
        const values = {
          library: message('developer.cause.library', {}, language),
          algorithm: 'EdDSA',
          wanted: 'RS256',
        };
        assert.match(ofUnknown, sentence('developer.cause.algorithm', values, language));
        assert.match(ofUnknown, sentence('developer.mend.choose', {}, language));
        assert.ok(ofUnknown.includes(`href="/developer/clients/${unknown.client_id}/edit"`));
      }
    });

    await t.test('it is over with an edit, and after an hour', async () => {
      const [edited, left] = [await register(null), await register(null)];
      for (const client of [edited, left]) await fail(signet, ada, client);
      const change = { id_token_signed_response_alg: 'RS256' };
      assert.equal((await ada.browser.patch(pathOf(edited), change)).status, 200);
      const caller = { actor: 'cli' } as const;
      await approveClient(signet.deps, { client_id: edited.client_id, caller }, { revision: 2 });
      assert.deepEqual(await inferredOf(ada, edited), []);
      assert.equal((await inferredOf(ada, left)).length, 1);
      signet.clock.advance(3600);
      assert.deepEqual(await inferredOf(ada, left), []);
    });
  },
);

testSignet('an app that never redeems its codes', { env }, async ({ signet, t }) => {
  const ada = await signet.signedInUser();
  const register = (changes = {}) =>
    signet.registerClient({ owner: ada, allowed_scopes: ['openid', 'email'], ...changes });

  await t.test('what it needs to find its state again, and where its callback is', async () => {
    const redirect_uris = ['http://localhost:3000/callback'];
    const client = await register({ library: 'authjs', redirect_uris });
    await abandon(signet, ada, client);
    assert.deepEqual(await causesOf(ada, client), [
      ['code_not_redeemed', 'callback: redirect_uris', 'state: AUTH_URL', 'issuer', 'connection'],
    ]);
    const { text } = await ada.browser.get(`/developer/clients/${client.client_id}/activity`);
    assert.match(text, sentence('failure.code_not_redeemed', { count: 3 }));
    assert.ok(text.includes(redirect_uris[0]!));
    await signet.runJobs(); // the codes have expired, and are kept for an hour nevertheless
    assert.equal((await inferredOf(ada, client)).length, 1);
  });

  await t.test('for a page in a browser its own policy is named', async () => {
    const client = await register({ client_type: 'public', application_type: 'spa', library: 'oidc-client-ts' });
    await abandon(signet, ada, client);
    const [causes] = await causesOf(ada, client);
    assert.equal(causes?.at(-1), 'content_security_policy');
  });

  await t.test('a refusal at the token endpoint is the explanation', async () => {
    const client = await register();
    await abandon(signet, ada, client.with({}));
    await client.with({ client_secret: 'cs_wrong' }).redeem(await ada.authorize(client, { scope }));
    for (let attempt = 0; attempt < 200 && (await failuresOf(ada, client)).length === 1; attempt += 1) await pause(5);
    signet.clock.advance(61);
    assert.deepEqual(
      (await failuresOf(ada, client)).map(({ code }) => code),
      ['secret_wrong'],
    );
  });
});

testSignet('a healthy client is never taken for a failing one', { env }, async ({ signet, t }) => {
  const ada = await signet.signedInUser();
  const users = [ada, await signet.signedInUser(), await signet.signedInUser(), await signet.signedInUser()];
  const register = (changes = {}) => signet.registerClient({ owner: ada, ...changes });

  const healthy: Record<string, () => Promise<RegisteredClient>> = {
    'one that signs users in and asks for nothing else': async () => {
      const client = await register();
      for (const user of users) await fail(signet, user, client, {}, 1);
      return client;
    },
    'one whose users sign in twice': async () => {
      const client = await register();
      for (const user of users) await fail(signet, user, client, {}, 2);
      return client;
    },
    'one that refreshes': async () => {
      const client = await register();
      await fail(signet, ada, client, {}, 3);
      const { refresh_token } = await ada.obtainTokens(client, { scope: 'openid offline_access' });
      assert.equal((await client.refresh(refresh_token)).status, 200);
      return client;
    },
    'a page in a browser that signs in whenever it is loaded': async () => {
      const client = await register({ client_type: 'public', application_type: 'spa', library: 'oidc-client-ts' });
      await fail(signet, ada, client, {}, 5);
      return client;
    },
    'a program that signs in whenever it is started': async () => {
      const client = await register({ client_type: 'public', application_type: 'native' });
      await fail(signet, ada, client, {}, 5);
      return client;
    },
    'one whose owner tests it again and again': async () => {
      const client = await register();
      for (let time = 0; time < 4; time += 1) {
        const begun = await ada.browser.post(`/developer/clients/${client.client_id}/test`);
        const { location } = await ada.browser.get(begun.location);
        if (time < 3) await ada.browser.get(location);
        signet.clock.advance(10);
      }
      return client;
    },
    'one that redeems its codes after some that it did not': async () => {
      const client = await register();
      await abandon(signet, ada, client);
      await ada.obtainTokens(client);
      signet.clock.advance(61);
      return client;
    },
  };
  for (const [name, run] of Object.entries(healthy)) {
    await t.test(name, async () => assert.deepEqual(await failuresOf(ada, await run()), []));
  }
});
