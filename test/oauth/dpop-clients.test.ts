import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { calculateJwkThumbprint, decodeJwt, exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { challengeOf, type RegisteredClient, verifier } from '../support/relying-party.ts';
import { startSignet } from '../support/signet.ts';

// What the libraries of relying parties do by themselves, at the real time and with a clock that is a day slow.

const wrongClock = -86_400;
const allowed_scopes = ['openid', 'offline_access', 'entitlements:read'];

async function start(t: TestContext, engine: Engine) {
  const signet = await startSignet(t, { engine });
  signet.clock.advance(Math.floor((Date.now() - signet.clock()) / 1000));
  const user = await signet.signedInUser();
  const answerFor = async (registered: RegisteredClient) => {
    const path = registered.authorizePath({ code_challenge: challengeOf(verifier), scope: allowed_scopes.join(' ') });
    return new URL((await user.browser.get(path)).location ?? assert.fail('no answer'));
  };
  return { signet, user, answerFor };
}

onBothEngines(
  'DP-06: openid-client signs in, refreshes and reads userinfo, and repeats with a nonce',
  async (t, engine) => {
    const { signet, user, answerFor } = await start(t, engine);
    for (const client_type of ['public', 'confidential'] as const) {
      const registered = await signet.registerClient({
        owner: user,
        client_type,
        allowed_scopes,
        dpop_bound_access_tokens: true,
      });
      const secret = registered.client_secret;
      const authentication = secret === null ? client.None() : client.ClientSecretBasic(secret);
      const configured = async (skew: number) => {
        const config = await client.discovery(
          new URL(signet.url),
          registered.client_id,
          { [client.clockSkew]: skew },
          authentication,
          { execute: [client.allowInsecureRequests] },
        );
        return config;
      };
      const config = await configured(0);
      for (const skew of [0, wrongClock]) {
        const keyPair = await client.randomDPoPKeyPair('ES256', { extractable: true });
        const DPoP = client.getDPoPHandle(await configured(skew), keyPair);
        const checks = { pkceCodeVerifier: verifier, expectedNonce: 'n1', expectedState: 's1' };
        const tokens = await client.authorizationCodeGrant(config, await answerFor(registered), checks, undefined, {
          DPoP,
        });
        assert.equal(tokens.token_type, 'dpop');
        const jkt = await calculateJwkThumbprint(await exportJWK(keyPair.publicKey));
        assert.deepEqual(decodeJwt(tokens.access_token).cnf, { jkt });
        const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP });
        assert.deepEqual(decodeJwt(refreshed.access_token).cnf, { jkt });
        const { sub } = await client.fetchUserInfo(config, refreshed.access_token, user.user_id, { DPoP });
        assert.equal(sub, user.user_id, `${client_type}, ${skew}`);
        const entitlements = await client.fetchProtectedResource(
          config,
          refreshed.access_token,
          new URL('/v1/me/entitlements', signet.url),
          'GET',
          null,
          undefined,
          { DPoP },
        );
        assert.deepEqual(await entitlements.json(), { entitlements: [] });
      }
    }
  },
);

onBothEngines('DP-06: oauth4webapi pushes a request by its key, and is told to use a nonce', async (t, engine) => {
  const { signet, user } = await start(t, engine);
  const registered = await signet.registerClient({ owner: user });
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(signet.url);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const own: oauth.Client = { client_id: registered.client_id };
  const keyPair = await oauth.generateKeyPair('EdDSA');
  const DPoP = oauth.DPoP({ ...own, [oauth.clockSkew]: wrongClock }, keyPair);
  const authentication = oauth.ClientSecretBasic(registered.client_secret ?? '');
  const parameters = new URLSearchParams(registered.authorizePath().split('?')[1]);
  const push = async () =>
    oauth.processPushedAuthorizationResponse(
      as,
      own,
      await oauth.pushedAuthorizationRequest(as, own, authentication, parameters, { DPoP, ...insecure }),
    );
  await assert.rejects(push(), oauth.isDPoPNonceError);
  const { request_uri } = await push(); // with the nonce, which the library has kept
  const path = `/oauth/authorize?${new URLSearchParams({ client_id: registered.client_id, request_uri })}`;
  const answer = new URL((await user.browser.get(path)).location ?? assert.fail('no answer'));
  const callback = oauth.validateAuthResponse(as, own, answer, 's1');
  const redeem = async (by: oauth.DPoPHandle | undefined) =>
    oauth.processAuthorizationCodeResponse(
      as,
      own,
      await oauth.authorizationCodeGrantRequest(as, own, authentication, callback, registered.redirect_uri, verifier, {
        ...(by && { DPoP: by }),
        ...insecure,
      }),
      { expectedNonce: 'n1' },
    );
  const refused = (error: unknown) => (error as oauth.ResponseBodyError).error === 'invalid_grant';
  await assert.rejects(redeem(undefined), refused);
  await assert.rejects(redeem(oauth.DPoP(own, await oauth.generateKeyPair('ES256'))), refused);
  const { access_token, refresh_token = '' } = await redeem(DPoP);
  const refresh = async (by: oauth.DPoPHandle) =>
    oauth.processRefreshTokenResponse(
      as,
      own,
      await oauth.refreshTokenGrantRequest(as, own, authentication, refresh_token, { DPoP: by, ...insecure }),
    );
  const another = oauth.DPoP(own, await oauth.generateKeyPair('ES256'));
  await assert.rejects(refresh(another), refused, 'the key of the request stays that of its tokens');
  assert.equal((await refresh(DPoP)).token_type, 'dpop');
  const read = async () => oauth.userInfoRequest(as, own, access_token, { DPoP, ...insecure });
  const { sub } = await oauth.processUserInfoResponse(as, own, user.user_id, await read());
  assert.equal(sub, user.user_id);
});
