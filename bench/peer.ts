/**
 * The peer: oidc-provider in its fastest honest set-up. Everything is in a Map, no feature is on that the measured
 * requests do not use, and accounts come from memory. Started by `startPeer`, in its own process.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { Adapter, AdapterPayload, ResourceServer } from 'oidc-provider';
import { startChild, unlimited } from './child.ts';
import { basicAuthorization, type Contender, codeChallenge, nonce, redirectUri, scope, user } from './contender.ts';

const clientId = 'peer-client';
const clientSecret = 'a-secret-of-the-bench-that-guards-nothing-1';
const accountId = 'usr_4f1d8a52c6b94e7c8f0e3d2a1b';
const api = 'https://api.example';

type Seed = { codes: number; codeChallenge: string; resource: boolean };

/** @param isBound with the features of bound tokens and pushed requests, which cost the other requests something. */
export async function startPeer(port: number, isBound: boolean): Promise<Contender> {
  const child = await startChild('./peer.ts', port, ...(isBound ? ['bound'] : []));
  const basic = basicAuthorization(clientId, clientSecret);
  return {
    name: 'oidc_provider',
    address: { host: '127.0.0.1', port },
    pid: child.pid,
    // An interactive login is not what is measured, so codes are made by the peer's own models, over a private channel.
    async codes(codes, use) {
      const seed = { codes, codeChallenge, resource: use === 'resource server' } satisfies Seed;
      return (await child.ask<string[]>(seed)).map((text) => ({ text, basic }));
    },
    stop: child.stop,
  };
}

const records = new Map<string, AdapterPayload>();
const keysByGrant = new Map<string, string[]>();

/** All that the adapter interface asks for, on two Maps; no copy, no expiry, no size limit. */
class MapAdapter implements Adapter {
  readonly prefix: string;
  constructor(model: string) {
    this.prefix = `${model}:`;
  }
  async upsert(id: string, payload: AdapterPayload) {
    const key = this.prefix + id;
    records.set(key, payload);
    if (payload.grantId === undefined) return;
    const keys = keysByGrant.get(payload.grantId);
    if (keys) keys.push(key);
    else keysByGrant.set(payload.grantId, [key]);
  }
  async find(id: string) {
    return records.get(this.prefix + id);
  }
  async consume(id: string) {
    const payload = records.get(this.prefix + id);
    if (payload) payload.consumed = Math.floor(Date.now() / 1000);
  }
  async destroy(id: string) {
    records.delete(this.prefix + id);
  }
  async revokeByGrantId(grantId: string) {
    for (const key of keysByGrant.get(grantId) ?? []) records.delete(key);
    keysByGrant.delete(grantId);
  }
  async findByUid(): Promise<undefined> {} // sessions and devices take no part in what is measured
  async findByUserCode(): Promise<undefined> {}
}

async function serve(port: number, isBound: boolean) {
  const { Provider } = await import('oidc-provider'); // here alone: it warns of Node versions that it does not know
  const key = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const apiServer: ResourceServer = {
    scope,
    audience: clientId, // as Signet: one relying party, one audience
    accessTokenFormat: 'jwt',
    accessTokenTTL: 3600,
    jwt: { sign: { alg: 'EdDSA' } },
  };
  const provider = new Provider(`http://localhost:${port}`, {
    adapter: MapAdapter,
    jwks: { keys: [{ ...key, alg: 'EdDSA', use: 'sig' }] },
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
        id_token_signed_response_alg: 'EdDSA',
        scope,
      },
    ],
    enabledJWA: { idTokenSigningAlgValues: ['EdDSA'] },
    routes: {
      token: '/oauth/token',
      userinfo: '/oauth/userinfo',
      introspection: '/oauth/introspect',
      pushed_authorization_request: '/oauth/par',
    },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'role'] },
    // An id token without profile claims, as Signet's: fewer bytes to encode and to sign.
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: (use) => (use === 'userinfo' ? { sub, ...user, email_verified: true, role: 'user' } : { sub }),
    }),
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    expiresWithSession: () => false,
    clientBasedCORS: () => false,
    pkce: { required: () => true },
    ttl: { AccessToken: 3600, AuthorizationCode: 600, Grant: 86_400, IdToken: 3600, RefreshToken: 86_400 },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: isBound },
      pushedAuthorizationRequests: { enabled: isBound },
      revocation: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      introspection: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      resourceIndicators: { enabled: true, useGrantedResource: () => true, getResourceServerInfo: () => apiServer },
    },
  });
  const client = await provider.Client.find(clientId);

  async function createCode(seed: Seed): Promise<string> {
    if (!client) throw new Error('The peer does not know its client.');
    const grant = new provider.Grant({ accountId, clientId });
    grant.addOIDCScope(scope);
    grant.addResourceScope(api, scope);
    const grantId = await grant.save();
    const code = new provider.AuthorizationCode({
      client,
      accountId,
      grantId,
      gty: 'authorization_code',
      scope,
      nonce,
      redirectUri,
      codeChallenge: seed.codeChallenge,
      codeChallengeMethod: 'S256',
      acr: '1',
      amr: ['pwd'],
      authTime: Math.floor(Date.now() / 1000),
      sid: 'ses_9e2c4b7a1f8d4c5e',
      sessionUid: randomBytes(16).toString('base64url'),
      expiresWithSession: false,
      resource: seed.resource ? api : undefined,
    });
    return code.save();
  }

  process.on('message', async (seed: Seed) => {
    process.send?.(await Promise.all(Array.from({ length: seed.codes }, () => createCode(seed))));
  });
  process.on('disconnect', () => process.exit(0));
  createServer({ keepAliveTimeout: unlimited }, provider.callback()).listen(port, '127.0.0.1', () =>
    process.send?.('listening'),
  );
}

if (import.meta.main) await serve(Number(process.argv[2]), process.argv[3] === 'bound');
