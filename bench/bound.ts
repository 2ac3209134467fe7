import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { type Contender, codeChallenge, codeVerifier, type Issued, redirectUri, scope } from './contender.ts';
import { connections, formRequest, getRequest, type Headers, type Load, run } from './load.ts';
import type { boundScenarioNames, Scenario } from './scenarios.ts';

// What a client of FAPI 2.0 does: tokens bound to its key by DPoP (RFC 9449), and pushed requests (RFC 9126).

/** Families that are refreshed in turn, and access tokens that are used in turn. */
const boundTokens = 256;

/** One key of one app. Its proofs are made before what is timed: making them is the client's work. */
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const header = base64url({ alg: 'ES256', typ: 'dpop+jwt', jwk: publicKey.export({ format: 'jwk' }) });

/** @param token that the request carries. */
function proof({ address }: Pick<Contender, 'address'>, htm: 'GET' | 'POST', path: string, token?: string): Headers {
  const claims = base64url({
    jti: randomUUID(),
    htm,
    htu: `http://localhost:${address.port}${path}`,
    iat: Math.floor(Date.now() / 1000),
    ...(token !== undefined && { ath: createHash('sha256').update(token).digest('base64url') }),
  });
  const input = Buffer.from(`${header}.${claims}`);
  const signature = sign('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return { DPoP: `${input}.${signature.toString('base64url')}` };
}

const some = <Value>(count: number, make: () => Value): Value[] => Array.from({ length: count }, make);

export async function prepareBound(
  contender: Contender,
  tokens = boundTokens,
): Promise<Record<(typeof boundScenarioNames)[number], Scenario>> {
  const families = await exchanged(contender, tokens, 'resource server', 'refresh_token');
  const accessTokens = await exchanged(contender, tokens, 'own endpoints', 'access_token');
  return {
    dpop_exchange: async (count) => exchangeLoad(contender, await contender.codes(count, 'resource server')),
    dpop_refresh: refresh(contender, families),
    dpop_userinfo: userinfo(contender, accessTokens),
    pushed_request: await pushed(contender),
  };
}

function exchangeLoad(contender: Contender, codes: Issued[]): Load & { requests: Buffer[] } {
  const fixed = `grant_type=authorization_code&redirect_uri=${encodeURIComponent(redirectUri)}&code_verifier=${codeVerifier}`;
  const requests = codes.map(({ text, basic }) => {
    const headers = { ...basic, ...proof(contender, 'POST', '/oauth/token') };
    return formRequest(contender.address, '/oauth/token', headers, `${fixed}&code=${text}`);
  });
  let at = 0;
  return {
    requests,
    count: requests.length,
    next: () => requests[at++]!,
    status: 200,
    contains: '"token_type":"DPoP"',
  };
}

async function exchanged(
  contender: Contender,
  count: number,
  use: 'resource server' | 'own endpoints',
  field: 'access_token' | 'refresh_token',
): Promise<Issued[]> {
  const codes = await contender.codes(count, use, true);
  const load = exchangeLoad(contender, codes);
  const tokens = new Map<Buffer, string>();
  await run(contender.address, {
    ...load,
    onAnswer: ({ body }, request) => tokens.set(request, readToken(body, field)),
  });
  return load.requests.map((request, at) => ({ text: tokens.get(request)!, basic: codes[at]!.basic }));
}

/** Rotation: each answer has the token of the family's next request, which comes with a proof of its own. */
function refresh(contender: Contender, families: Issued[]): Scenario {
  const waiting = [...families];
  return async (count) => {
    const proofs = some(count, () => proof(contender, 'POST', '/oauth/token'));
    const sent = new Map<Buffer, Headers>();
    return {
      count,
      connections: Math.min(connections, families.length),
      next: () => {
        const { text, basic } = waiting.shift()!;
        const form = `grant_type=refresh_token&refresh_token=${text}`;
        const request = formRequest(contender.address, '/oauth/token', { ...basic, ...proofs.pop()! }, form);
        sent.set(request, basic);
        return request;
      },
      status: 200,
      contains: '"token_type":"DPoP"',
      onAnswer: ({ body }, request) => {
        waiting.push({ text: readToken(body, 'refresh_token'), basic: sent.get(request)! });
        sent.delete(request);
      },
    };
  };
}

function userinfo(contender: Contender, accessTokens: Issued[]): Scenario {
  const path = '/oauth/userinfo';
  return async (count) => {
    let at = 0;
    const requests = some(count, () => {
      const { text } = accessTokens[at++ % accessTokens.length]!;
      const headers = { Authorization: `DPoP ${text}`, ...proof(contender, 'GET', path, text) };
      return getRequest(contender.address, path, headers);
    });
    return { count, next: () => requests.pop()!, status: 200, contains: '"email_verified":' };
  };
}

async function pushed(contender: Contender): Promise<Scenario> {
  const [code] = await contender.codes(1, 'resource server', true);
  const basic = Buffer.from(code!.basic.Authorization?.replace('Basic ', '') ?? '', 'base64').toString();
  const form = new URLSearchParams({
    client_id: decodeURIComponent(basic.split(':', 1)[0] ?? ''), // the peer wants it here, too
    response_type: 'code',
    redirect_uri: redirectUri,
    scope,
    state: 's-4bT1',
    nonce: 'n-9xQ2',
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }).toString();
  const request = formRequest(contender.address, '/oauth/par', code!.basic, form);
  return async (count) => ({ count, next: () => request, status: 201, contains: '"request_uri":"' });
}

function readToken(body: Buffer, field: string): string {
  const { [field]: token } = JSON.parse(body.toString()) as Record<string, string>;
  return token ?? '';
}
