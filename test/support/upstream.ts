import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { CompactSign, type JWTHeaderParameters } from 'jose';
import { type Answer, type Browser, newBrowser } from './browser.ts';
import { freePort } from './free-port.ts';

export const client_id = 'signet-at-upstream';
export const client_secret = 'a secret with : and % in it';

/** Settings that switch an issuer on as the provider `acme`. */
export const acmeAt = (issuer: string): Record<string, string> => ({
  SIGNET_PROVIDER_ACME_ISSUER: issuer,
  SIGNET_PROVIDER_ACME_LABEL: 'Acme',
  SIGNET_PROVIDER_ACME_CLIENT_ID: client_id,
  SIGNET_PROVIDER_ACME_CLIENT_SECRET: client_secret,
});

export type Claims = Record<string, unknown> & { sub?: string };

/** An OpenID Connect issuer that checks what a good one checks, and lies on demand. */
export type Upstream = {
  issuer: string;
  /** Who signs in there next; goes into the id token. */
  account: Claims;
  /** Query parameters of the last authorization request. */
  asked: URLSearchParams;
  /** Paths that were asked for, oldest first. */
  requests: string[];
  /** What the next answers say instead of the truth. */
  lies: Lies;
  /** A JWT of the issuer about something else than a sign-in. @param by another key than the published one. */
  sign(claims: object, header?: Partial<JWTHeaderParameters>, by?: Lies['signedWith'] | 'public_key'): Promise<string>;
};

export type Lies = {
  /** Changes the claims of the id token; undefined takes one away. */
  claims?: Claims;
  header?: Partial<JWTHeaderParameters>;
  signedWith?: 'none' | 'client_secret' | 'another_key';
  /** Changes the token response; a value undefined takes a member away. */
  tokens?: Record<string, unknown>;
  discovery?: Record<string, unknown>;
  userinfo?: Claims;
  /** Changes the redirect back to the client. */
  callback?: Record<string, string | undefined>;
  /** Answers these paths in its own way. */
  answer?: Record<string, (response: ServerResponse) => void>;
};

type Code = { nonce: string; code_challenge: string; redirect_uri: string; account: Claims };

/** @param now Unix seconds, as the issuer's clock says. */
export async function startUpstream(t: TestContext, now: () => number): Promise<Upstream> {
  const codes = new Map<string, Code>();
  const [key, otherKey] = [newKey(), newKey()];
  const upstream: Upstream = {
    issuer: '',
    account: { sub: 'sub-1', email: 'ada@example.com', email_verified: true, name: 'Ada' },
    asked: new URLSearchParams(),
    requests: [],
    lies: {},
    async sign(claims, header, by) {
      const payload = Buffer.from(typeof claims === 'string' ? claims : JSON.stringify(claims));
      if (by === 'none')
        return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload.toString('base64url')}.`;
      const macs = {
        client_secret: Buffer.from(client_secret),
        public_key: Buffer.from(key.publicKey.export({ format: 'pem', type: 'spki' })),
      };
      const secret = by === 'client_secret' || by === 'public_key' ? macs[by] : undefined;
      const { privateKey } = by === 'another_key' ? otherKey : key;
      return new CompactSign(payload)
        .setProtectedHeader({ alg: secret ? 'HS256' : 'ES256', kid: 'k1', ...header })
        .sign(secret ?? privateKey);
    },
  };

  const idToken = async ({ nonce, account }: Code, access_token: string) => {
    const { lies, issuer } = upstream;
    const at_hash = createHash('sha256').update(access_token).digest().subarray(0, 16).toString('base64url');
    const truth = { iss: issuer, aud: client_id, iat: now(), exp: now() + 300, nonce, at_hash, ...account };
    const payload = Buffer.from(JSON.stringify({ ...truth, ...lies.claims }));
    if (lies.signedWith === 'none') {
      return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload.toString('base64url')}.`;
    }
    const byMac = lies.signedWith === 'client_secret';
    const header = { alg: byMac ? 'HS256' : 'ES256', kid: 'k1', ...lies.header };
    const { privateKey } = lies.signedWith === 'another_key' ? otherKey : key;
    return new CompactSign(payload).setProtectedHeader(header).sign(byMac ? Buffer.from(client_secret) : privateKey);
  };

  const handlers: Record<string, (url: URL, request: IncomingMessage, response: ServerResponse) => unknown> = {
    '/.well-known/openid-configuration': (_url, _request, response) => {
      const { issuer } = upstream;
      sendJson(response, 200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256', 'HS256', 'none'],
        authorization_response_iss_parameter_supported: true,
        ...upstream.lies.discovery,
      });
    },
    '/jwks': (_url, _request, response) => {
      const jwk = key.publicKey.export({ format: 'jwk' });
      sendJson(response, 200, { keys: [{ ...jwk, kid: 'k1', use: 'sig', alg: 'ES256' }] });
    },
    '/authorize': ({ searchParams }, _request, response) => {
      upstream.asked = searchParams;
      const code = randomBytes(8).toString('hex');
      const { nonce = '', code_challenge = '', redirect_uri = '', state = '' } = Object.fromEntries(searchParams);
      codes.set(code, { nonce, code_challenge, redirect_uri, account: upstream.account });
      const back = new URL(redirect_uri);
      for (const [name, value] of Object.entries({ code, state, iss: upstream.issuer, ...upstream.lies.callback })) {
        if (value !== undefined) back.searchParams.set(name, value);
      }
      response.writeHead(302, { location: back.href }).end();
    },
    '/token': async (_url, request, response) => {
      const form = new URLSearchParams(await text(request));
      const code = codes.get(form.get('code') ?? '');
      codes.delete(form.get('code') ?? '');
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const credentials = `${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret).replaceAll('%20', '+')}`;
      const isClient = unscramble(request.headers.authorization) === unscramble(`Basic ${btoa(credentials)}`);
      if (!isClient) return sendJson(response, 401, { error: 'invalid_client' });
      if (!code || code.code_challenge !== challenge || code.redirect_uri !== form.get('redirect_uri')) {
        return sendJson(response, 400, { error: 'invalid_grant' });
      }
      const access_token = randomBytes(8).toString('hex');
      const id_token = await idToken(code, access_token);
      sendJson(response, 200, {
        access_token,
        token_type: 'Bearer',
        expires_in: 60,
        id_token,
        ...upstream.lies.tokens,
      });
    },
    '/userinfo': (_url, _request, response) =>
      sendJson(response, 200, { ...upstream.account, ...upstream.lies.userinfo }),
  };

  upstream.issuer = await listen(t, async (request, response) => {
    const url = new URL(request.url ?? '/', upstream.issuer);
    upstream.requests.push(url.pathname);
    const lie = upstream.lies.answer?.[url.pathname];
    if (lie) return lie(response);
    const handler = handlers[url.pathname];
    if (!handler) return response.writeHead(404).end();
    await handler(url, request, response);
  });
  return upstream;
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** RFC 6749 §2.3.1 leaves some freedom in how a secret is form-encoded before it is base64-encoded. */
const unscramble = (authorization = '') =>
  decodeURIComponent(Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().replaceAll('+', ' '));

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function listen(
  t: TestContext,
  handler: (request: IncomingMessage, response: ServerResponse) => unknown,
  port = 0,
): Promise<string> {
  const server = createServer((request, response) => void handler(request, response));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

/**
 * A certified implementation, `oidc-provider`, on this machine's own time. Every visitor is signed in as `account` and
 * consents, without a page.
 */
export async function startOidcProvider(
  t: TestContext,
  {
    redirect_uri,
    account,
    backchannel_logout_uri,
  }: { redirect_uri: string; account: Claims & { sub: string }; backchannel_logout_uri?: string },
): Promise<string> {
  const { Provider } = await import('oidc-provider');
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  const provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id, client_secret, redirect_uris: [redirect_uri] },
        ...(backchannel_logout_uri && { backchannel_logout_uri, backchannel_logout_session_required: true }),
      },
    ],
    // Its own way to send refuses addresses of this machine.
    fetch: (url, init) => fetch(url, { ...init, dispatcher: undefined } as RequestInit),
    jwks: { keys: [{ ...key, alg: 'RS256', use: 'sig' }] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture', 'locale'] },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...account, sub }) }),
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    cookies: { keys: ['only for this test'] },
  });
  const callback = provider.callback();
  await listen(
    t,
    async (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return callback(request, response);
      const { prompt, params } = await provider.interactionDetails(request, response);
      if (prompt.name === 'login') {
        return provider.interactionFinished(request, response, { login: { accountId: account.sub } });
      }
      const grant = new provider.Grant({ accountId: account.sub, clientId: client_id });
      grant.addOIDCScope(String(params.scope));
      const consent = { grantId: await grant.save() };
      return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
    },
    port,
  );
  return issuer;
}

/**
 * Goes to an upstream and on until it sends the browser elsewhere.
 * @param there the browser's cookies at the upstream.
 * @returns where to.
 */
export async function followUpstream(location: string, there: Browser = newBrowser(location)): Promise<URL> {
  const { origin } = new URL(location);
  let url = new URL(location);
  for (let hops = 0; hops < 10; hops += 1) {
    const answer = await there.get(url.href);
    const next = answer.location;
    if (next === null) throw new Error(`The upstream answered ${answer.status}: ${answer.text}`);
    url = new URL(next, url);
    if (url.origin !== origin) return url;
  }
  throw new Error('The upstream never came to an end.');
}

export type UpstreamSignIn = { answer: Answer; callback: string };

/**
 * From a page of ours to the upstream and back, by a user who says yes to what they are asked.
 * @returns what came of it, and the path of our callback with its query.
 */
export async function signInUpstream(
  browser: Browser,
  path = '/auth/acme/login',
  there?: Browser,
): Promise<UpstreamSignIn> {
  const callback = await startUpstreamSignIn(browser, path, there);
  return { answer: await acceptConfirmation(browser, await browser.get(callback)), callback };
}

/** Says yes if an answer is the question of a federated arrival; else it stays the answer. */
export async function acceptConfirmation(browser: Browser, answer: Answer): Promise<Answer> {
  const form = confirmationForm(answer);
  return form ? browser.post(form.action, { answer: form.answer }) : answer;
}

/** The form of such a question. */
export function confirmationForm({ status, text }: Answer): { action: string; answer: string } | undefined {
  const action = /action="(\/auth\/[a-z]+\/continue)"/.exec(text)?.[1];
  const answer = /name="answer" value="([^"]+)"/.exec(text)?.[1];
  return status === 200 && action && answer ? { action, answer } : undefined;
}

/** What a browser says of a click on one of our own pages, and of one on another site's. */
export const fromOurPage = { 'sec-fetch-site': 'same-origin' };
export const fromElsewhere = { 'sec-fetch-site': 'cross-site' };

/** The first half: @returns the path of the callback that the browser has not gone to yet. */
export async function startUpstreamSignIn(
  browser: Browser,
  path = '/auth/acme/login',
  there?: Browser,
): Promise<string> {
  const answer = await browser.get(path, fromOurPage);
  if (answer.status !== 302) throw new Error(`login answered ${answer.status}: ${answer.text}`);
  const { pathname, search } = await followUpstream(answer.location, there);
  return pathname + search;
}
