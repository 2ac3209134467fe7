import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { VerifierOptions } from '../src/index.ts';

export type TestKey = { kid: string; alg: string; privateKey: CryptoKey; jwk: JWK };

export async function newKey(kid: string, alg = 'EdDSA'): Promise<TestKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

const metadataPath = '/.well-known/openid-configuration';
const keysPath = '/.well-known/jwks.json';
const introspectionPath = '/oauth/introspect';

/** An issuer that the test holds in its hand: what it answers, and what it was asked. */
export type FakeIssuer = {
  url: string;
  /** What a verifier of its tokens needs; the clock stands still until the test moves it. */
  options: VerifierOptions & { now: () => number };
  /** Moves the clock. */
  advance(seconds: number): void;
  /** Seconds. */
  now(): number;
  keys: TestKey[];
  /** Answers of a path instead of the usual one. */
  answers: Record<string, RequestListener>;
  /** How often something was asked. */
  asked: { metadata: number; keys: number; introspection: number };
  /** Bodies and credentials of the introspections. */
  introspections: { form: URLSearchParams; authorization: string | undefined }[];
  /** An access token by its first key, with these changes; a claim that is undefined is left out. */
  sign(changes?: Changes): Promise<string>;
};

export type Changes = { claims?: Record<string, unknown>; header?: Record<string, unknown>; key?: TestKey };

export const paths = { metadata: metadataPath, keys: keysPath, introspection: introspectionPath };

export const json =
  (body: unknown, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

export const failing: RequestListener = (_request, response) => void response.writeHead(500).end('{}');

/** Nothing is sent, and the connection stays. */
export const silent: RequestListener = () => undefined;

let shared: Promise<TestKey> | undefined;

export async function startIssuer(t: TestContext, { keys }: { keys?: TestKey[] } = {}): Promise<FakeIssuer> {
  let at = 1_800_000_000_000;
  shared ??= newKey('first');
  const answers: FakeIssuer['answers'] = {};
  const asked = { metadata: 0, keys: 0, introspection: 0 };
  const introspections: FakeIssuer['introspections'] = [];
  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const now = () => at / 1000;
  const issuer: FakeIssuer = {
    url,
    options: { issuer: url, audience: 'cl_app', now: () => at },
    now,
    advance(seconds) {
      at += seconds * 1000;
    },
    keys: keys ?? [await shared],
    answers,
    asked,
    introspections,
    sign({ claims, header, key = issuer.keys[0]! } = {}) {
      const { kid, alg } = key;
      return new SignJWT({ ...usualClaims(), ...claims })
        .setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header } as { alg: string })
        .sign(key.privateKey, { crit: { 'urn:test': true } });
    },
  };

  let issued = 0;
  function usualClaims() {
    issued += 1;
    return {
      iss: url,
      sub: 'usr_1',
      aud: 'cl_app',
      client_id: 'cl_app',
      scope: 'openid orders:read',
      iat: now(),
      exp: now() + 3600,
      jti: `gr_1.${issued}`,
    };
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    if (path === paths.metadata) asked.metadata += 1;
    if (path === paths.keys) asked.keys += 1;
    if (path === paths.introspection) {
      asked.introspection += 1;
      let body = '';
      for await (const chunk of request) body += chunk;
      introspections.push({ form: new URLSearchParams(body), authorization: request.headers.authorization });
    }
    const usual: Record<string, RequestListener> = {
      [paths.metadata]: json({
        issuer: url,
        jwks_uri: url + paths.keys,
        introspection_endpoint: url + paths.introspection,
      }),
      [paths.keys]: json({ keys: issuer.keys.map(({ jwk }) => jwk) }, { 'cache-control': 'public, max-age=300' }),
      [paths.introspection]: json({ active: true }),
    };
    const answer = answers[path] ?? usual[path];
    if (answer) answer(request, response);
    else response.writeHead(404).end();
  }

  return issuer;
}
