import { type Contender, codeVerifier, type Issued, redirectUri } from './contender.ts';
import { connections, formRequest, getRequest, type Headers, type Load, run } from './load.ts';

/** Of each server that keeps tokens. */
export const tokenScenarioNames = ['code_exchange', 'refresh', 'userinfo', 'introspect'] as const;
const ownScenarioNames = ['userinfo_new', 'authorize', 'sign_in', 'discovery', 'key_set'] as const;
/** Of `--only` alone: their features are off at the peer while the others are measured. */
export const boundScenarioNames = ['dpop_exchange', 'dpop_refresh', 'dpop_userinfo', 'pushed_request'] as const;
export const usualScenarioNames = [...tokenScenarioNames, ...ownScenarioNames] as const;
export const scenarioNames = [...usualScenarioNames, ...boundScenarioNames] as const;
export type ScenarioName = (typeof scenarioNames)[number];
type TokenScenarios = Record<(typeof tokenScenarioNames)[number], Scenario>;

/** Different access tokens for userinfo and introspection, used in turn, so each many times in one measurement. */
const tokenCount = 500;
/** Independent refresh-token families; each is refreshed in turn with the token of its last answer. */
const chainCount = 512;
/** Access tokens of one measurement of `userinfo_new` at most: each is issued before and used once. */
export const newTokenCount = 500;

/** Makes the requests of one measurement, perhaps fewer than wanted; what comes before the first request is not timed. */
export type Scenario = (count: number) => Promise<Load>;

/** The scenarios of a server that keeps tokens, with the tokens they need, got by exchanging codes. */
export async function prepare(
  contender: Contender,
  counts = { accessTokens: tokenCount, families: chainCount },
): Promise<TokenScenarios> {
  const accessTokens = await exchange(contender, counts.accessTokens, 'own endpoints', 'access_token');
  const chains = await exchange(contender, counts.families, 'resource server', 'refresh_token');
  return {
    code_exchange: codeExchange(contender),
    refresh: refresh(contender, chains),
    userinfo: userinfo(contender, accessTokens),
    introspect: introspect(contender, accessTokens),
  };
}

/** What has no counterpart at the peer. */
export function ownScenarios(signet: Contender): Partial<Record<ScenarioName, Scenario>> {
  const { authorize, signIn } = signet;
  return {
    userinfo_new: userinfoOnce(signet),
    ...(authorize && {
      authorize: async (count) => ({ count, next: inTurn(authorize), status: 302, contains: 'code=' }),
    }),
    ...(signIn && { sign_in: signInLoad(signIn) }),
    ...documentScenarios(signet),
  };
}

/** As many at a time as Signet hashes passwords. */
export const signInLoad =
  (requests: readonly Buffer[]): Scenario =>
  async (count) => ({ count, next: inTurn(requests), status: 303, contains: '', connections: 2 });

/** What some scenarios of Signet are compared with: another of its own. */
export const relatives: Partial<Record<ScenarioName, ScenarioName>> = {
  userinfo_new: 'userinfo',
  authorize: 'code_exchange',
};

/** What is answered from memory. */
export const documentPaths = { discovery: '/.well-known/openid-configuration', key_set: '/.well-known/jwks.json' };

export const documentScenarios = ({ address }: Contender) => ({
  discovery: repeat(getRequest(address, documentPaths.discovery, {}), '"issuer":'),
  key_set: repeat(getRequest(address, documentPaths.key_set, {}), '"keys":'),
});

const repeat =
  (request: Buffer, contains: string): Scenario =>
  async (count) => ({ count, next: () => request, status: 200, contains });

/** Authorization code with PKCE and HTTP Basic → access, id and refresh token. */
export function codeExchange(contender: Pick<Contender, 'address' | 'codes'>): Scenario {
  return async (count) => exchangeLoad(contender, await contender.codes(count, 'resource server'));
}

function exchangeLoad({ address }: Pick<Contender, 'address'>, codes: Issued[]): Load {
  const fixed = `grant_type=authorization_code&redirect_uri=${encodeURIComponent(redirectUri)}&code_verifier=${codeVerifier}`;
  const requests = codes.map(({ text, basic }) => formRequest(address, '/oauth/token', basic, `${fixed}&code=${text}`));
  return { count: requests.length, next: inTurn(requests), status: 200, contains: '"refresh_token":"' };
}

/** Rotation: every answer carries the token that the family's next request sends. */
function refresh({ address }: Contender, families: Issued[]): Scenario {
  const waiting: Buffer[] = [];
  const credentials = new Map<Buffer, Headers>();
  const add = ({ text, basic }: Issued) => {
    const form = `grant_type=refresh_token&refresh_token=${text}`;
    const request = formRequest(address, '/oauth/token', basic, form);
    waiting.push(request);
    credentials.set(request, basic);
  };
  families.forEach(add);
  return async (count) => ({
    count,
    connections: Math.min(connections, families.length), // so that no token is in flight twice
    next: () => waiting.shift()!,
    status: 200,
    contains: '"refresh_token":"',
    onAnswer: ({ body }, request) => {
      const basic = credentials.get(request)!;
      credentials.delete(request);
      add({ text: readToken(body, 'refresh_token'), basic });
    },
  });
}

function userinfo(contender: Contender, accessTokens: Issued[]): Scenario {
  const load = userinfoLoad(contender, accessTokens);
  return async (count) => ({ ...load, count });
}

/** Each access token for the first time. */
function userinfoOnce(contender: Contender): Scenario {
  return async (count) => {
    const tokens = await exchange(contender, Math.min(count, newTokenCount), 'own endpoints', 'access_token', false);
    return userinfoLoad(contender, tokens);
  };
}

function userinfoLoad({ address }: Contender, accessTokens: Issued[]): Load {
  const requests = accessTokens.map(({ text }) =>
    getRequest(address, '/oauth/userinfo', { Authorization: `Bearer ${text}` }),
  );
  return { count: requests.length, next: inTurn(requests), status: 200, contains: '"email_verified":' };
}

/** With the hint, so that the peer need not look through its other kinds of token. */
function introspect({ address }: Contender, accessTokens: Issued[]): Scenario {
  const requests = accessTokens.map(({ text, basic }) =>
    formRequest(address, '/oauth/introspect', basic, `token_type_hint=access_token&token=${text}`),
  );
  return async (count) => ({ count, next: inTurn(requests), status: 200, contains: '"active":true' });
}

async function exchange(
  contender: Contender,
  count: number,
  use: 'resource server' | 'own endpoints',
  field: 'access_token' | 'refresh_token',
  areKept = true,
): Promise<Issued[]> {
  const codes = await contender.codes(count, use, areKept);
  const load = exchangeLoad(contender, codes);
  const requests: Buffer[] = [];
  const tokens = new Map<Buffer, string>();
  await run(contender.address, {
    ...load,
    next: () => {
      const request = load.next();
      requests.push(request);
      return request;
    },
    onAnswer: ({ body }, request) => tokens.set(request, readToken(body, field)),
  });
  return requests.map((request, at) => ({ text: tokens.get(request)!, basic: codes[at]!.basic }));
}

function inTurn(requests: readonly Buffer[]): () => Buffer {
  let at = 0;
  return () => requests[at++ % requests.length]!;
}

/** Finds the value without parsing the rest: these answers are most of what the load generator reads. */
function readToken(body: Buffer, field: string): string {
  const key = `"${field}":"`;
  const start = body.indexOf(key, 0, 'latin1') + key.length;
  return body.toString('latin1', start, body.indexOf('"', start, 'latin1'));
}
