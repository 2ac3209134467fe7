import assert from 'node:assert/strict';
import { type JWTPayload, SignJWT } from 'jose';
import { type Answer, readAnswer } from './browser.ts';
import { asserted, assertionOf, type Changes, type KeyPair, keySetOf, newKeyPair } from './client-keys.ts';
import { newProofKey, type ProofChanges, type ProofKey, proofOf } from './dpop.ts';
import {
  type Fields,
  postForm,
  type RegisteredClient,
  redirectedTo,
  type Tokens,
  tokensOf,
  verifier,
} from './relying-party.ts';
import type { Signet } from './signet.ts';
import type { TestUser } from './test-user.ts';

/** What differs in one request from what a FAPI client sends: its assertion and its proof; null leaves one out. */
export type Deviation = {
  assertion?: Changes | null;
  by?: KeyPair;
  proof?: ProofChanges | null;
  proofKey?: ProofKey;
  headers?: Record<string, string>;
};

type Options = { alg?: 'ES256' | 'EdDSA' | 'PS256'; signsRequests?: boolean; [field: string]: unknown };

/** A client that does what the FAPI 2.0 Security Profile wants of one: it pushes, signs, and proves that it has its key. */
export class FapiClient {
  readonly signet: Signet;
  readonly registered: RegisteredClient;
  readonly pair: KeyPair;
  readonly key: ProofKey;
  readonly signsRequests: boolean;

  private constructor(signet: Signet, registered: RegisteredClient, pair: KeyPair, key: ProofKey, signs: boolean) {
    this.signet = signet;
    this.registered = registered;
    this.pair = pair;
    this.key = key;
    this.signsRequests = signs;
  }

  static async register(signet: Signet, { alg = 'ES256', signsRequests = false, ...fields }: Options = {}) {
    const pair = newKeyPair(alg);
    const registered = await signet.registerClient({
      profile: 'fapi2',
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: keySetOf(pair),
      require_signed_request_object: signsRequests,
      ...fields,
    });
    return new FapiClient(signet, registered, pair, await newProofKey(), signsRequests);
  }

  /** The same client, which sends its requests to another node. */
  at(node: Signet): FapiClient {
    return new FapiClient(node, this.registered.at(node), this.pair, this.key, this.signsRequests);
  }

  /** What a proof is about is the address that the client knows, whichever node answers. */
  get #server() {
    return { clock: this.signet.clock, url: this.signet.deps.config.baseUrl };
  }

  get client_id() {
    return this.registered.client_id;
  }

  /** A form with the client's assertion, and with a proof unless it is pushed. */
  async post(
    path: string,
    fields: Fields,
    { assertion, by = this.pair, proof, proofKey = this.key, headers }: Deviation = {},
  ) {
    const credentials = assertion === null ? {} : asserted(await assertionOf(this.signet, this, by, assertion));
    const proven: Record<string, string> =
      proof === null || (proof === undefined && path !== '/oauth/token')
        ? {}
        : { dpop: await proofOf(this.#server, proofKey, ['POST', path], proof) };
    return postForm(this.signet.url + path, { ...credentials, ...fields }, { ...proven, ...headers });
  }

  /** The canonical authorization request. */
  requestOf(changes: Fields = {}): Fields {
    return Object.fromEntries(new URLSearchParams(this.registered.authorizePath(changes).split('?')[1]));
  }

  /** The request as an object that the client signs (RFC 9101). */
  async requestObject(
    changes: JWTPayload = {},
    { header = {}, by = this.pair }: { header?: object; by?: KeyPair } = {},
  ) {
    const at = Math.floor(this.signet.clock() / 1000);
    const claims = { iss: this.client_id, aud: this.signet.deps.config.baseUrl, nbf: at, exp: at + 300, ...changes };
    const typ = 'oauth-authz-req+jwt';
    return new SignJWT(claims).setProtectedHeader({ alg: by.alg, kid: by.kid, typ, ...header }).sign(by.privateKey);
  }

  async push(changes: Fields = {}, deviation?: Deviation): Promise<Answer> {
    const request = this.requestOf(changes);
    const fields = this.signsRequests ? { request: await this.requestObject(request) } : request;
    return this.post('/oauth/par', fields, deviation);
  }

  /** @returns where the browser is sent. */
  async pathOf(changes: Fields = {}, deviation?: Deviation, beside: Fields = {}): Promise<string> {
    const answer = await this.push(changes, deviation);
    assert.equal(answer.status, 201, answer.text);
    const { request_uri } = answer.json as { request_uri: string };
    return `/oauth/authorize?${new URLSearchParams({ client_id: this.client_id, request_uri, ...(beside as Record<string, string>) })}`;
  }

  /** @param user who is signed in. @returns what comes back to the client. */
  async ask(user: TestUser, changes: Fields = {}, deviation?: Deviation, beside?: Fields): Promise<Fields> {
    const answer = redirectedTo(await user.browser.get(await this.pathOf(changes, deviation, beside)));
    assert.equal(answer.base, this.registered.redirect_uri.split('?')[0]);
    return Object.fromEntries(answer);
  }

  async codeOf(user: TestUser, changes: Fields = {}, deviation?: Deviation): Promise<string> {
    const { code, error } = await this.ask(user, changes, deviation);
    return code ?? assert.fail(error);
  }

  redeem(code: string, changes: Fields = {}, deviation?: Deviation): Promise<Answer> {
    const { redirect_uri } = this.registered;
    const fields = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier, ...changes };
    return this.post('/oauth/token', fields, deviation);
  }

  refresh(refresh_token: string, deviation?: Deviation): Promise<Answer> {
    return this.post('/oauth/token', { grant_type: 'refresh_token', refresh_token }, deviation);
  }

  async run(user: TestUser, changes: Fields = {}, deviation?: Deviation): Promise<Tokens> {
    const tokens = tokensOf(await this.redeem(await this.codeOf(user, changes, deviation)));
    assert.equal(tokens.token_type, 'DPoP');
    return tokens;
  }

  /** Reads userinfo, which is the resource of the suite. */
  async userinfo(
    token: string,
    { proof, scheme = 'DPoP', key = this.key, headers = {} }: Resource = {},
  ): Promise<Answer> {
    const proven: Record<string, string> =
      proof === null ? {} : { dpop: await proofOf(this.#server, key, ['GET', '/oauth/userinfo'], { token, ...proof }) };
    const sent = { authorization: `${scheme} ${token}`, ...proven, ...headers };
    return readAnswer(await fetch(`${this.signet.url}/oauth/userinfo`, { headers: sent }));
  }
}

type Resource = {
  proof?: ProofChanges | null;
  scheme?: string;
  key?: ProofKey;
  headers?: Record<string, string>;
};
