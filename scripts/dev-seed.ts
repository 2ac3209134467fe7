/**
 * `npm run dev:seed`: fills a development store with users, clients in every state, grants, entitlements, webhooks and
 * failures, so that each page of `npm run dev` has something to show. It sends the requests that browsers, clients and
 * back ends would send, to an app in this process. Only for an address on loopback, since the passwords are known.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Secret, TOTP } from 'otpauth';
import { findUserByEmail } from '../src/accounts/store.ts';
import { buildApp } from '../src/app/app.ts';
import { readConfig } from '../src/app/config.ts';
import { closeDeps, openDeps, openLog } from '../src/app/open-deps.ts';
import { createUser } from '../src/authentication/account-links/create-user.ts';
import { registerClient } from '../src/clients/register-client.ts';
import { readRegistration } from '../src/clients/registration.ts';
import { approveClient } from '../src/clients/review-client.ts';
import type { Deps } from '../src/oauth/deps.ts';
import { isLoopback } from '../src/platform/ip-address.ts';

const password = 'ordinary words in a row';
const accounts = {
  ada: { name: 'Ada Lovelace', email: 'ada@example.com', role: 'admin', for: 'administrator' },
  grace: { name: 'Grace Hopper', email: 'grace@example.com', role: 'user', for: 'owner of clients, with TOTP' },
  alan: { name: 'Alan Turing', email: 'alan@example.com', role: 'user', for: 'owner of clients' },
  mary: { name: 'Mary Jackson', email: 'mary@example.com', role: 'user', for: 'address not verified' },
  edsger: { name: 'Edsger Dijkstra', email: 'edsger@example.com', role: 'user', for: 'locked for wrong passwords' },
  kim: { name: 'Kim Doe', email: 'kim@example.com', role: 'user', for: 'disabled' },
} as const;
type Name = keyof typeof accounts;

type Answer = { status: number; location: string; json: Record<string, unknown> };
type Request = { json?: unknown; form?: Record<string, string>; authorization?: string };
type Client = { client_id: string; client_secret: string | null; redirect_uri: string };

/** A browser with its cookies, or a program without any. A status of 400 and more is an error unless `mayFail`. */
class Agent {
  readonly #app: FastifyInstance;
  readonly #origin: string;
  readonly #cookies = new Map<string, string>();
  constructor(app: FastifyInstance, origin: string) {
    this.#app = app;
    this.#origin = origin;
  }

  async send(method: 'GET' | 'POST' | 'PATCH', path: string, request: Request = {}, mayFail = false): Promise<Answer> {
    const { json, form, authorization } = request;
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
    const response = await this.#app.inject({
      method,
      url: path,
      payload: form ? new URLSearchParams(form).toString() : json === undefined ? undefined : JSON.stringify(json),
      headers: {
        host: new URL(this.#origin).host,
        origin: this.#origin,
        cookie: [...this.#cookies].map((pair) => pair.join('=')).join('; '),
        ...(form || json !== undefined ? { 'content-type': type } : {}),
        ...(authorization === undefined ? {} : { authorization }),
      },
    });
    for (const { name, value } of response.cookies) this.#cookies.set(name, value);
    if (response.statusCode >= 400 && !mayFail) {
      throw new Error(`${method} ${path} answered ${response.statusCode}: ${response.body}`);
    }
    const isJson = String(response.headers['content-type']).startsWith('application/json');
    const location = String(response.headers.location ?? '');
    return { status: response.statusCode, location, json: isJson ? response.json() : {} };
  }

  post = (path: string, json?: unknown) => this.send('POST', path, { json });
}

const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

async function seed(deps: Deps, app: FastifyInstance): Promise<{ totpSecret: string }> {
  const origin = deps.config.baseUrl;
  const agent = () => new Agent(app, origin);
  const ids = {} as Record<Name, string>;
  const as = {} as Record<Name, Agent>;
  for (const [name, { for: _, ...account }] of Object.entries(accounts) as [Name, (typeof accounts)[Name]][]) {
    ids[name] = await createUser(deps, { ...account, password, emailVerified: name !== 'mary' }, 'cli');
    as[name] = agent();
    await as[name].send('POST', '/signin', { form: { username: account.email, password } });
  }

  const register = async (owner: Name, name: string, more: Record<string, unknown> = {}): Promise<Client> => {
    const redirect_uri = `https://${name.toLowerCase().replaceAll(/\W+/g, '-')}.example.com/callback`;
    const allowed_scopes = ['openid', 'profile', 'email', 'offline_access', 'entitlements:read'];
    const body = { name, client_type: 'confidential', redirect_uris: [redirect_uri], allowed_scopes, ...more };
    const { json } = await as[owner].post('/v1/oauth/clients', body);
    return { ...(json as Omit<Client, 'redirect_uri'>), redirect_uri };
  };
  const review = ({ client_id }: Client, decision: string, body?: unknown) =>
    as.ada.post(`/v1/admin/clients/${client_id}/${decision}`, body);

  const notes = await register('grace', 'Field Notes', { homepage_url: 'https://field-notes.example.com' });
  await review(notes, 'approve', { revision: 1, consent: 'required' });
  await as.grace.send('PATCH', `/v1/oauth/clients/${notes.client_id}`, {
    json: { name: 'Field Notes for Teams', redirect_uris: [notes.redirect_uri, 'https://teams.example.com/callback'] },
  });
  await register('grace', 'Budget Planner');
  const weather = await register('alan', 'Weather Widget', { client_type: 'public' });
  await review(weather, 'approve', { revision: 1, consent: 'skip' });
  await register('alan', 'Field N0tes'); // looks like another client
  await review(await register('alan', 'Dice Roller'), 'reject', { reason: 'Please say what it needs sign-in for.' });
  const coupons = await register('alan', 'Coupon Finder');
  await review(coupons, 'approve', { revision: 1, consent: 'skip' });
  await review(coupons, 'suspend', { reason: 'It sends unwanted mail.' });
  const intranet = readRegistration({
    name: 'Intranet',
    client_type: 'confidential',
    redirect_uris: ['https://intranet.example.com/callback'],
  });
  const operator = { actor: 'cli' } as const;
  const { client } = await registerClient(deps, { owner_user_id: null, caller: operator }, intranet);
  await approveClient(deps, { client_id: client.client_id, caller: operator }, { revision: 1 });

  for (const name of ['ada', 'alan', 'mary'] as const) await obtainTokens(as[name], weather);
  await fail(as.alan, notes, agent());

  const terms = {
    name: 'Billing',
    permissions: ['entitlements:write', 'tokens:introspect'],
    products: ['notes', 'maps'],
  };
  const { json: service } = await as.ada.post('/v1/admin/service-credentials', terms);
  const authorization = basic(String(service.client_id), String(service.client_secret));
  const current_period_end = Math.floor(deps.clock() / 1000) + 30 * 86_400;
  const writes = [
    { user_id: ids.ada, product: 'notes', plan: 'team', status: 'active', current_period_end },
    { user_id: ids.ada, product: 'maps', plan: 'basic', status: 'canceled', current_period_end },
    { user_id: ids.grace, product: 'notes', plan: 'personal', status: 'past_due', current_period_end },
    { user_id: ids.alan, product: 'maps', plan: 'basic', status: 'expired' },
  ];
  for (const write of writes) {
    await agent().send('POST', '/v1/entitlements', {
      json: { ...write, source: 'billing', version: 1 },
      authorization,
    });
  }

  // A host that does not resolve (RFC 6761 §6.4): deliveries are seen to fail, and nothing leaves this machine.
  const event_types = ['user.created', 'client.approved', 'session.ended', 'grant.revoked'];
  await as.ada.post('/v1/admin/webhooks', { url: 'https://hooks.invalid/signet', event_types });
  const { json: off } = await as.ada.post('/v1/admin/webhooks', { url: 'https://old.invalid/signet', event_types });
  await as.ada.post(`/v1/admin/webhooks/${off.webhook_id}/disable`);

  for (let wrong = 0; wrong < 5; wrong += 1) {
    await agent().send('POST', '/signin', { form: { username: accounts.edsger.email, password: 'a guess' } }, true);
  }
  await as.ada.post(`/v1/admin/users/${ids.kim}/disable`, { reason: 'Has left the company.' });
  return { totpSecret: await enableTotp(as.grace) };
}

/** The authorization code flow of a public client. */
async function obtainTokens(user: Agent, { client_id, redirect_uri }: Client): Promise<void> {
  const code_verifier = randomBytes(32).toString('base64url');
  const parameters = {
    response_type: 'code',
    client_id,
    redirect_uri,
    scope: 'openid profile email offline_access',
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  const { location } = await user.send('GET', `/oauth/authorize?${new URLSearchParams(parameters)}`);
  const code = new URL(location).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier, client_id };
  await user.send('POST', '/oauth/token', { form });
}

/** Failures for the client's owner to read: a redirect URI that is not registered, and a wrong secret. */
async function fail(user: Agent, { client_id, redirect_uri }: Client, program: Agent): Promise<void> {
  const wrong = { response_type: 'code', client_id, redirect_uri: `${redirect_uri}/` };
  await user.send('GET', `/oauth/authorize?${new URLSearchParams(wrong)}`, {}, true);
  const form = { grant_type: 'refresh_token', refresh_token: 'rt_unknown' };
  await program.send('POST', '/oauth/token', { form, authorization: basic(client_id, 'wrong') }, true);
}

async function enableTotp(user: Agent): Promise<string> {
  const { json } = await user.post('/v1/me/2fa/totp/enroll');
  const totpSecret = String(json.secret_base32);
  const code = new TOTP({ secret: Secret.fromBase32(totpSecret) }).generate();
  await user.post('/v1/me/2fa/totp/confirm', { code });
  return totpSecret;
}

const config = readConfig();
if (!isLoopback(new URL(config.baseUrl).hostname)) {
  console.error(`${config.baseUrl} is not on loopback. Accounts with known passwords are for development only.`);
  process.exit(1);
}
const deps = await openDeps(config, { clock: Date.now, log: openLog('warn') });
try {
  if (await findUserByEmail(deps.db, accounts.ada.email)) {
    console.log('This store has been seeded before. To start again, stop the server and delete the store.');
  } else {
    const app = await buildApp(deps);
    const { totpSecret } = await seed(deps, app);
    await app.close();
    const rows = Object.values(accounts).map(({ email, for: purpose }) => `  ${email.padEnd(20)}${purpose}`);
    console.log(`Seeded. Sign in at ${config.baseUrl}/signin with the password "${password}":\n${rows.join('\n')}`);
    console.log(`The TOTP secret of ${accounts.grace.email} is ${totpSecret}.`);
  }
} finally {
  await closeDeps(deps);
}
