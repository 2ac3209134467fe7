import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createRemoteJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import { ask } from './browser.ts';
import { basic, type RegisteredClient } from './relying-party.ts';
import type { Service, ServiceOptions } from './services.ts';
import type { ClientOptions, Signet } from './signet.ts';
import type { TestUser } from './test-user.ts';
import { openReceiver, type Receiver } from './webhook-receiver.ts';

export const push = 'urn:ietf:rfc:8935';
export const poll = 'urn:ietf:rfc:8936';
const base = 'https://schemas.openid.net/secevent';
export const sessionRevoked = `${base}/caep/event-type/session-revoked`;
export const credentialChange = `${base}/caep/event-type/credential-change`;
export const verification = `${base}/ssf/event-type/verification`;
export const streamUpdated = `${base}/ssf/event-type/stream-updated`;

/** For receivers of tests, which are on this machine. */
export const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' };

export type Json = Record<string, unknown>;
export type Token = JWTPayload & { events: Record<string, Json>; sub_id: Json; txn?: string; toe?: number };
type Answered = { status: number; json: Json; text: string };

type Credentials = Pick<Service, 'client_id' | 'client_secret' | 'authorization'>;

export type SignalClient = {
  /** Of the service credential, or of the client. */
  service: Credentials;
  /** Makes somebody a user of the client; a service credential hears of everybody. */
  meets(user: TestUser, scope?: string): Promise<unknown>;
  metadata: Json;
  /** @param member of the metadata: the name of an endpoint, or a URL. */
  call(method: string, member: string, body?: unknown, authorization?: string): Promise<Answered>;
  /** @param delivery of a stream; left out: as the metadata of the transmitter says. */
  create(more?: Json): Promise<Json & { stream_id: string; delivery: { endpoint_url: string } }>;
  poll(stream: Json, body?: Json, authorization?: string): Promise<Answered & { sets: Record<string, string> }>;
  /** As a receiver checks a token: signature by the published keys, issuer, audience, and what the profile demands. */
  read(token: string): Promise<Token>;
};

/** A receiver of signals, as another product has it: it knows the issuer and its token, and finds the rest by the metadata. */
export async function signalClient(signet: Signet, options: ServiceOptions = {}): Promise<SignalClient> {
  const service = await signet.newService({ permissions: ['signals:manage'], products: [], ...options });
  return openReceiverOf(signet, service, async () => undefined);
}

/** The same of an app, with its client ID and secret. */
export async function signalApp(
  signet: Signet,
  options: ClientOptions = {},
): Promise<SignalClient & { client: RegisteredClient }> {
  const client = await signet.registerClient(options);
  const credentials = { client_id: client.client_id, client_secret: String(client.client_secret) };
  const service = { ...credentials, authorization: basic(credentials.client_id, credentials.client_secret) };
  const opened = await openReceiverOf(signet, service, (user, scope) =>
    user.obtainTokens(client, scope === undefined ? {} : { scope }),
  );
  return { ...opened, client };
}

async function openReceiverOf(
  signet: Signet,
  service: Credentials,
  meets: SignalClient['meets'],
): Promise<SignalClient> {
  const token = `Bearer ${service.client_id}.${service.client_secret}`;
  const found = await ask(`${signet.url}/.well-known/ssf-configuration`);
  const metadata = (found.json ?? {}) as Json;
  const keys = createRemoteJWKSet(new URL(String(metadata.jwks_uri)));
  const call = async (method: string, member: string, body?: unknown, authorization = token) => {
    const [name = '', query = ''] = member.split('?');
    const url = String(metadata[name] ?? name) + (query && `?${query}`);
    const answer = await ask(url, {
      method,
      headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, json: (answer.json ?? {}) as Json, text: answer.text };
  };
  return {
    service,
    meets,
    metadata,
    call,
    async create(more = {}) {
      const { status, json, text } = await call('POST', 'configuration_endpoint', {
        events_requested: [sessionRevoked, credentialChange],
        delivery: { method: poll },
        ...more,
      });
      assert.equal(status, 201, text);
      return json as Awaited<ReturnType<SignalClient['create']>>;
    },
    async poll(stream, body = {}, authorization) {
      const { endpoint_url } = stream.delivery as { endpoint_url: string };
      const answer = await call('POST', endpoint_url, body, authorization);
      return { ...answer, sets: (answer.json.sets ?? {}) as Record<string, string> };
    },
    async read(text) {
      const currentDate = new Date(signet.clock());
      const { payload } = await jwtVerify(text, keys, {
        issuer: String(metadata.issuer),
        audience: service.client_id,
        algorithms: ['RS256'],
        typ: 'secevent+jwt',
        currentDate,
      });
      assert.equal(decodeProtectedHeader(text).alg, 'RS256');
      const set = payload as Token;
      assert.equal(Object.keys(set.events).length, 1, 'one event');
      assert.ok(set.jti && set.iat !== undefined && set.iat <= signet.clock() / 1000);
      assert.ok(!('sub' in set) && !('exp' in set));
      return set;
    },
  };
}

export type PushReceiver = Receiver & { tokens(client: SignalClient): Promise<Token[]> };

/** Where tokens are pushed. */
export async function openSignalReceiver(t: TestContext): Promise<PushReceiver> {
  const receiver = await openReceiver(t);
  receiver.status = 202;
  return Object.assign(receiver, {
    tokens: (client: SignalClient) => Promise.all(receiver.deliveries.map(({ body }) => client.read(body))),
  });
}

export const pushTo = ({ url }: { url: string }, more: Json = {}) => ({
  delivery: { method: push, endpoint_url: url, ...more },
});

export const typesOf = (tokens: readonly Token[]): string[] => tokens.map(({ events }) => Object.keys(events)[0] ?? '');
