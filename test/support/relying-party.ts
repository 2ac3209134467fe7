import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { type Answer, readAnswer } from './browser.ts';
import type { Person, RegisteredClient, Signet } from './signet.ts';

export const verifier = 'dBjftJeZ4CVP-mBr0q8Yk3nM1oPz7sXwUaEcHgLiTvK';
export const challengeOf = (code_verifier: string) => createHash('sha256').update(code_verifier).digest('base64url');
export const basic = (client_id: string, client_secret: string) =>
  `Basic ${Buffer.from(`${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`).toString('base64')}`;

type Fields = Record<string, string | undefined>;

/** The canonical authorize request of the security requirements, with changes; undefined leaves a parameter out. */
export function authorizePath(client: RegisteredClient, changes: Fields = {}): string {
  const parameters: Fields = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: client.redirect_uri,
    scope: 'openid offline_access',
    state: 's1',
    nonce: 'n1',
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    ...changes,
  };
  return `/oauth/authorize?${encode(parameters)}`;
}

const encode = (fields: Fields) =>
  new URLSearchParams(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** What the redirect to the client carries. */
export function redirectedTo(answer: Answer): URLSearchParams & { base: string } {
  const location = answer.headers.get('location');
  assert.ok(location, `no Location: ${answer.status} ${answer.text}`);
  const url = new URL(location, 'http://relative.invalid');
  return Object.assign(url.searchParams, { base: url.origin + url.pathname });
}

/** A code for a person who has a session. */
export async function authorize(person: Person, client: RegisteredClient, changes: Fields = {}): Promise<string> {
  const answer = await person.browser.get(authorizePath(client, changes));
  const code = redirectedTo(answer).get('code');
  assert.ok(code, `no code: ${answer.status} ${answer.headers.get('location')}`);
  return code;
}

/** Posts a form with the client's Basic credentials, or without any for a public client. */
export async function postAs(
  signet: Signet,
  client: RegisteredClient | undefined,
  path: string,
  fields: Fields,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const credentials: Record<string, string> = client?.client_secret
    ? { authorization: basic(client.client_id, client.client_secret) }
    : {};
  const response = await fetch(signet.url + path, {
    method: 'POST',
    body: encode(fields),
    headers: { ...credentials, ...headers },
    redirect: 'manual',
  });
  return readAnswer(response);
}

export const redeem = (signet: Signet, client: RegisteredClient, code: string, changes: Fields = {}) =>
  postAs(signet, client, '/oauth/token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.redirect_uri,
    code_verifier: verifier,
    client_id: client.client_id,
    ...changes,
  });

export const refresh = (signet: Signet, client: RegisteredClient, refresh_token: string, changes: Fields = {}) =>
  postAs(signet, client, '/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token,
    client_id: client.client_id,
    ...changes,
  });

export type Tokens = {
  access_token: string;
  token_type: string;
  expires_in: number;
  scope: string;
  refresh_token: string;
  id_token: string;
};

export function tokensOf(answer: Answer): Tokens {
  assert.equal(answer.status, 200, answer.text);
  return answer.json as Tokens;
}

/** Authorize and redeem. */
export async function obtainTokens(signet: Signet, person: Person, client: RegisteredClient, changes: Fields = {}) {
  return tokensOf(await redeem(signet, client, await authorize(person, client, changes)));
}

export const introspect = (signet: Signet, client: RegisteredClient, token: string) =>
  postAs(signet, client, '/oauth/introspect', { token });

export async function userinfo(signet: Signet, access_token: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${access_token}` };
  return readAnswer(await fetch(`${signet.url}/oauth/userinfo`, { headers, ...init }));
}

/** Asserts a refusal in the one shape that all of them have (decisions §1). */
export function assertRefused(answer: Answer, status: number, error: string): void {
  assert.equal(answer.status, status, `${answer.status} ${answer.text}`);
  assert.equal(answer.json?.error, error);
  assert.match(String(answer.json?.error_description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
}

/** The claims of a compact JWS, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}

export const randomVerifier = () => randomBytes(32).toString('base64url');
