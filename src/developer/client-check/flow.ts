import { hash } from 'node:crypto';
import type { Caller } from '../../audit/audit.ts';
import type { Client } from '../../clients/client.ts';
import type { FailureCode } from '../../clients/failures.ts';
import { hasScope } from '../../clients/scopes.ts';
import { startTestRequest, testRedirectUri } from '../../oauth/authorize/test-request.ts';
import type { Deps } from '../../oauth/deps.ts';
import { userinfo } from '../../oauth/discovery/userinfo.ts';
import { revokeGrant } from '../../oauth/grants/grants.ts';
import { undefinedIfInvalid } from '../../oauth/signing-keys/key-ring.ts';
import { grantIdOfAccessToken, verifyAccessToken } from '../../oauth/token/access-token.ts';
import { redeem } from '../../oauth/token/grant-types.ts';
import { ownToken } from '../../oauth/token/presented-token.ts';
import { revokeToken } from '../../oauth/token/revoke-token.ts';
import { TokenRefusal } from '../../oauth/token/token-refusal.ts';
import type { TokenResponse } from '../../oauth/token/token-request.ts';
import { now } from '../../platform/clock.ts';
import { RequestError, refusal } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { newSecret, type UserId } from '../../platform/ids.ts';
import { type Check, type InspectedToken, inspectToken } from './inspect-token.ts';

export type StepName = 'authorize' | 'token' | 'userinfo' | 'refresh' | 'revoke';
type Values = Readonly<Record<string, unknown>>;

/** One request of the test, as a page may show it: without credentials that could be used. */
export type Step = {
  name: StepName;
  /** Method and address. */
  request: string;
  sent: Values;
  received?: Values;
  checks: readonly Check[];
  tokens: readonly InspectedToken[];
  failure?: { error: string; description: string; diagnosis?: FailureCode };
};

/** Sealed in a cookie while the browser is at the authorization endpoint. */
type StartedTest = { client_id: string; user_id: string; query: string; code_verifier: string; expires_at: number };

const purpose = 'client-test';
export const testSeconds = 600;

/** @throws {RequestError} `unauthorized_client` for a client that is not approved: it cannot start a sign-in (spec 1.9). */
export async function startTest(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'keys' | 'vault' | 'apis' | 'attributes'>,
  { client, user_id }: { client: Client; user_id: UserId },
  browser: { browserToken: () => string; address: string },
): Promise<{ path: string; cookie: string }> {
  if (client.status !== 'approved') throw refusal('unauthorized_client', { key: 'developer.test.not_approved' });
  const { client_id } = client;
  const code_verifier = newSecret();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: testRedirectUri(deps.config, client_id),
    scope: client.allowed_scopes.join(' '),
    state: newSecret(),
    nonce: newSecret(),
    code_challenge: hash('sha256', code_verifier, 'base64url'),
    code_challenge_method: 'S256',
  }).toString();
  const started: StartedTest = { client_id, user_id, query, code_verifier, expires_at: now(deps) + testSeconds };
  const path = await startTestRequest(deps, { client, test_owner: user_id, query }, browser);
  return { path, cookie: deps.vault.browser.seal(purpose, JSON.stringify(started)) };
}

/**
 * The rest of the flow, by the use-cases behind the endpoints: the owner acts as the client, so no secret is needed. At
 * the end the grant is revoked, whatever happened before.
 * @param answer what the authorization endpoint sent to the redirect URI.
 * @throws {RequestError} `invalid_request` if this browser has not started the test, or it is over.
 */
export async function finishTest(
  deps: Deps,
  { client, user_id, caller }: { client: Client; user_id: UserId; caller: Caller },
  { cookie, answer, address }: { cookie: string | undefined; answer: Parameters; address: string },
): Promise<readonly Step[]> {
  const { query, code_verifier } = openTest(deps, { client, user_id }, cookie, answer.state);
  const { config } = deps;
  const asked = Object.fromEntries(new URLSearchParams(query));
  const { redirect_uri = '', nonce } = asked;
  const steps: Step[] = [];

  async function attempt<Result extends Values>(
    step: Pick<Step, 'name' | 'request' | 'sent'>,
    work: () => Promise<Result>,
    inspect: (result: Result) => Promise<Partial<Pick<Step, 'checks' | 'tokens'>>> = async () => ({}),
  ): Promise<Result | undefined> {
    const shown = { ...step, sent: withoutCredentials(step.sent), checks: [], tokens: [] };
    try {
      const result = await work();
      steps.push({ ...shown, received: withoutCredentials(result), ...(await inspect(result)) });
      return result;
    } catch (error) {
      if (!(error instanceof RequestError) || error.status >= 500) throw error;
      const diagnosis = error instanceof TokenRefusal ? error.diagnosis.code : undefined;
      steps.push({ ...shown, failure: { error: error.code, description: error.message, diagnosis } });
      return undefined;
    }
  }
  const requestTokens = (name: 'token' | 'refresh', form: Record<string, string>, expected: { nonce?: string }) => {
    const sent = { ...form, client_id: client.client_id };
    return attempt(
      { name, request: `POST ${config.baseUrl}/oauth/token`, sent },
      () => redeem(deps, { client, form: sent, address, resource: [], jkt: undefined }),
      async (issued) => ({ tokens: await inspectAll(deps, client, issued, expected) }),
    );
  };

  const { code, error = 'invalid_request', error_description = '', ...rest } = answer;
  steps.push({
    name: 'authorize',
    request: `GET ${config.baseUrl}/oauth/authorize`,
    sent: asked,
    received: withoutCredentials(answer),
    checks: [
      { name: 'state', passed: true },
      { name: 'iss', passed: rest.iss === config.baseUrl },
    ],
    tokens: [],
    failure: code === undefined ? { error, description: error_description } : undefined,
  });
  if (code === undefined) return steps;

  const redemption = { grant_type: 'authorization_code', code, redirect_uri, code_verifier };
  const issued = await requestTokens('token', redemption, { nonce });
  if (!issued) return steps;
  const { access_token } = issued;
  let current = issued;
  try {
    if (hasScope(issued.scope, 'openid')) {
      const request = `GET ${config.baseUrl}/oauth/userinfo`;
      const { sub } = await deps.keys.verify('at+jwt', access_token);
      await attempt(
        { name: 'userinfo', request, sent: { authorization: `Bearer ${shorten(access_token)}` } },
        async () => userinfo(deps, ownToken(await verifyAccessToken(deps, access_token))),
        async (claims) => ({ checks: [{ name: 'sub', passed: claims.sub === sub }] }),
      );
    }
    if (issued.refresh_token !== undefined) {
      const form = { grant_type: 'refresh_token', refresh_token: issued.refresh_token };
      current = (await requestTokens('refresh', form, {})) ?? issued;
    }
  } finally {
    const token = current.refresh_token ?? access_token;
    await attempt(
      { name: 'revoke', request: `POST ${config.baseUrl}/oauth/revoke`, sent: { token, client_id: client.client_id } },
      async () => {
        await revokeToken(deps, token, { client, client_id: client.client_id, address });
        await endGrant(deps, { client, caller }, access_token);
        return {};
      },
    );
  }
  const remaining = await undefinedIfInvalid(verifyAccessToken(deps, current.access_token));
  return steps.map((step) =>
    step.name === 'revoke' ? { ...step, checks: [{ name: 'revoked', passed: remaining === undefined }] } : step,
  );
}

/** An access token is revoked alone; its grant, which is listed as a connected app, is not to remain either. */
async function endGrant(deps: Deps, { client, caller }: { client: Client; caller: Caller }, access_token: string) {
  const { jti, sub, sid } = await deps.keys.verify('at+jwt', access_token);
  const grant = {
    grant_id: grantIdOfAccessToken(String(jti)),
    user_id: String(sub),
    client_id: client.client_id,
    session_id: String(sid),
    revoked_at: null,
  };
  await revokeGrant(deps, { grant, reason: 'client', ...caller });
}

function inspectAll(deps: Deps, client: Client, issued: TokenResponse, expected: { nonce?: string }) {
  const { id_token, access_token } = issued;
  return Promise.all([
    ...(id_token === undefined
      ? []
      : [inspectToken(deps, client, 'id_token', id_token, { ...expected, access_token })]),
    inspectToken(deps, client, 'access_token', access_token),
  ]);
}

function openTest(
  { vault, clock }: Pick<Deps, 'vault' | 'clock'>,
  { client, user_id }: { client: Client; user_id: UserId },
  cookie: string | undefined,
  state: string | undefined,
): StartedTest {
  const started = openSealed(vault, cookie ?? '');
  const isHere =
    started?.client_id === client.client_id &&
    started.user_id === user_id &&
    started.expires_at > now({ clock }) &&
    state !== undefined &&
    new URLSearchParams(started.query).get('state') === state;
  if (isHere) return started;
  throw refusal(
    'invalid_request',
    { key: 'developer.test.over' },
    {
      title: { key: 'error.test_over' },
      exit: { path: `/developer/clients/${client.client_id}/test`, label: 'error.to_test' },
    },
  );
}

function openSealed(vault: Deps['vault'], sealed: string): StartedTest | undefined {
  try {
    return JSON.parse(vault.browser.open(purpose, sealed));
  } catch {
    return undefined;
  }
}

const credentials = ['code', 'code_verifier', 'access_token', 'refresh_token', 'id_token', 'token'];
const shorten = (credential: string): string => `${credential.slice(0, 8)}…`;
const withoutCredentials = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, credentials.includes(name) ? shorten(String(value)) : value]),
  );
