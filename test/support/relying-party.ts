import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { type Answer, ask } from './browser.ts';

export const verifier = 'dBjftJeZ4CVP-mBr0q8Yk3nM1oPz7sXwUaEcHgLiTvK';
export const challengeOf = (code_verifier: string) => createHash('sha256').update(code_verifier).digest('base64url');
export const basic = (client_id: string, client_secret: string) =>
  `Basic ${Buffer.from(`${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`).toString('base64')}`;

/** Of a form or a query; undefined leaves one out. */
export type Fields = Record<string, string | undefined>;

const encode = (fields: Fields) =>
  new URLSearchParams(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined));

type Registration = { client_id: string; client_secret: string | null; redirect_uri: string };

/** A registered client at work: the requests that its back end sends. */
export class RegisteredClient implements Registration {
  readonly client_id: string;
  readonly client_secret: string | null;
  readonly redirect_uri: string;
  readonly #server: { url: string };

  constructor(server: { url: string }, registration: Registration) {
    this.#server = server;
    this.client_id = registration.client_id;
    this.client_secret = registration.client_secret;
    this.redirect_uri = registration.redirect_uri;
  }

  /** The same client with another secret, redirect URI or id. */
  with(changes: Partial<Registration>): RegisteredClient {
    const { client_id, client_secret, redirect_uri } = this;
    return new RegisteredClient(this.#server, { client_id, client_secret, redirect_uri, ...changes });
  }

  /** The same client, which sends its requests to another node. */
  at(server: { url: string }): RegisteredClient {
    return new RegisteredClient(server, this);
  }

  /** The canonical authorization request of the security requirements. */
  authorizePath(changes: Fields = {}): string {
    const parameters: Fields = {
      response_type: 'code',
      client_id: this.client_id,
      redirect_uri: this.redirect_uri,
      scope: 'openid offline_access',
      state: 's1',
      nonce: 'n1',
      code_challenge: challengeOf(verifier),
      code_challenge_method: 'S256',
      ...changes,
    };
    return `/oauth/authorize?${encode(parameters)}`;
  }

  /** Posts a form with Basic credentials, or without any if the client has no secret. */
  post(path: string, fields: Fields, headers: Record<string, string> = {}): Promise<Answer> {
    const credentials: Record<string, string> = this.client_secret
      ? { authorization: basic(this.client_id, this.client_secret) }
      : {};
    return postForm(this.#server.url + path, fields, { ...credentials, ...headers });
  }

  redeem(code: string, changes: Fields = {}, headers: Record<string, string> = {}): Promise<Answer> {
    const fields = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.redirect_uri,
      code_verifier: verifier,
      client_id: this.client_id,
      ...changes,
    };
    return this.post('/oauth/token', fields, headers);
  }

  refresh(refresh_token: string, changes: Fields = {}, headers: Record<string, string> = {}): Promise<Answer> {
    const fields = {
      grant_type: 'refresh_token',
      refresh_token,
      client_id: this.client_id,
      ...changes,
    };
    return this.post('/oauth/token', fields, headers);
  }

  introspect(token: string): Promise<Answer> {
    return this.post('/oauth/introspect', { token });
  }
}

/** Posts a form as a program does, which has no cookies. */
export function postForm(url: string, fields: Fields, headers: Record<string, string> = {}): Promise<Answer> {
  return ask(url, { method: 'POST', body: encode(fields), headers });
}

/** What the redirect to the client carries. */
export function redirectedTo(answer: Answer): URLSearchParams & { base: string } {
  const location = answer.location;
  assert.ok(location, `no Location: ${answer.status} ${answer.text}`);
  const url = new URL(location, 'http://relative.invalid');
  return Object.assign(url.searchParams, { base: url.origin + url.pathname });
}

const unescaped = (text: string) =>
  text.replace(/&#(\d+);|&(amp|lt|gt|quot);/g, (_, code: string, name: string) =>
    code ? String.fromCharCode(Number(code)) : { amp: '&', lt: '<', gt: '>', quot: '"' }[name]!,
  );

/** What the form of `response_mode=form_post` posts to the client. */
export function formOf(answer: Answer): { action: string; fields: Record<string, string> } {
  assert.equal(answer.status, 200, `${answer.status} ${answer.text}`);
  const [form = '', action = ''] = /<form method="post" action="([^"]*)".*?<\/form>/s.exec(answer.text) ?? [];
  const inputs = form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  const fields = Object.fromEntries([...inputs].map(([, name, value]) => [name, unescaped(value!)]));
  return { action: unescaped(action), fields };
}

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

export function userinfo({ url }: { url: string }, access_token: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${access_token}` };
  return ask(`${url}/oauth/userinfo`, { headers, ...init });
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
