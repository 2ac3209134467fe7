import { type Contender, codeVerifier, redirectUri } from './contender.ts';
import { formRequest, getRequest, type Load, run } from './load.ts';

export const scenarioNames = ['code_exchange', 'refresh', 'userinfo', 'introspect'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

/** Different access tokens for userinfo and introspection, used in turn, so each many times in one measurement. */
const tokenCount = 500;
/** Independent refresh-token families; each is refreshed in turn with the token of its last answer. */
const chainCount = 512;

/** Makes the requests of one measurement; what comes before the first request is not timed. */
export type Scenario = (count: number) => Promise<Load>;

/** The scenarios of a server that keeps tokens, with the tokens they need, got by exchanging codes. */
export async function prepare(
  contender: Contender,
  counts = { accessTokens: tokenCount, families: chainCount },
): Promise<Record<ScenarioName, Scenario>> {
  const accessTokens = await exchange(contender, counts.accessTokens, 'own endpoints', 'access_token');
  const chains = await exchange(contender, counts.families, 'resource server', 'refresh_token');
  return {
    code_exchange: codeExchange(contender),
    refresh: refresh(contender, chains),
    userinfo: userinfo(contender, accessTokens),
    introspect: introspect(contender, accessTokens),
  };
}

/** Authorization code with PKCE and HTTP Basic → access, id and refresh token. */
export function codeExchange(contender: Contender): Scenario {
  return async (count) => exchangeLoad(contender, await contender.codes(count, 'resource server'));
}

function exchangeLoad(contender: Contender, codes: string[]): Load {
  const fixed = `grant_type=authorization_code&redirect_uri=${encodeURIComponent(redirectUri)}&code_verifier=${codeVerifier}`;
  const requests = codes.map((code) =>
    formRequest(contender.address, '/oauth/token', contender.basic, `${fixed}&code=${code}`),
  );
  return { count: requests.length, next: inTurn(requests), status: 200, contains: '"refresh_token":"' };
}

/** Rotation: every answer carries the token that the family's next request sends. */
function refresh(contender: Contender, refreshTokens: string[]): Scenario {
  const request = (token: string) =>
    formRequest(contender.address, '/oauth/token', contender.basic, `grant_type=refresh_token&refresh_token=${token}`);
  const waiting = refreshTokens.map(request);
  return async (count) => ({
    count,
    // Oldest first: with more families than connections, none is ever in flight twice.
    next: () => waiting.shift()!,
    status: 200,
    contains: '"refresh_token":"',
    onAnswer: ({ body }) => waiting.push(request(readToken(body, 'refresh_token'))),
  });
}

function userinfo(contender: Contender, accessTokens: string[]): Scenario {
  const requests = accessTokens.map((token) =>
    getRequest(contender.address, '/oauth/userinfo', { Authorization: `Bearer ${token}` }),
  );
  return async (count) => ({ count, next: inTurn(requests), status: 200, contains: '"email_verified":' });
}

/** With the hint, so that the peer need not look through its other kinds of token. */
function introspect(contender: Contender, accessTokens: string[]): Scenario {
  const requests = accessTokens.map((token) =>
    formRequest(contender.address, '/oauth/introspect', contender.basic, `token_type_hint=access_token&token=${token}`),
  );
  return async (count) => ({ count, next: inTurn(requests), status: 200, contains: '"active":true' });
}

async function exchange(
  contender: Contender,
  count: number,
  use: 'resource server' | 'own endpoints',
  field: 'access_token' | 'refresh_token',
): Promise<string[]> {
  const load = exchangeLoad(contender, await contender.codes(count, use));
  const tokens: string[] = [];
  await run(contender.address, { ...load, onAnswer: ({ body }) => tokens.push(readToken(body, field)) });
  return tokens;
}

function inTurn(requests: Buffer[]): () => Buffer {
  let at = 0;
  return () => requests[at++ % requests.length]!;
}

/** Finds the value without parsing the rest: these answers are most of what the load generator reads. */
function readToken(body: Buffer, field: string): string {
  const key = `"${field}":"`;
  const start = body.indexOf(key, 0, 'latin1') + key.length;
  return body.toString('latin1', start, body.indexOf('"', start, 'latin1'));
}
