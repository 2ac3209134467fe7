/**
 * Users, clients in every state, grants, entitlements, webhooks and failures, so that each page has something to show. They
 * come from the requests that browsers, clients and back ends would send, to an app in this process.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Secret, TOTP } from 'otpauth';
import { createUser } from '../src/authentication/account-links/create-user.ts';
import { registerClient } from '../src/clients/register-client.ts';
import { readRegistration } from '../src/clients/registration.ts';
import { approveClient } from '../src/clients/review-client.ts';
import type { Deps } from '../src/oauth/deps.ts';

export const password = 'ordinary words in a row';
export const accounts = {
  ada: { name: 'Ada Lovelace', email: 'ada@example.com', role: 'admin', for: 'administrator' },
  grace: { name: 'Grace Hopper', email: 'grace@example.com', role: 'user', for: 'owner of clients, with TOTP' },
  alan: { name: 'Alan Turing', email: 'alan@example.com', role: 'user', for: 'owner of clients' },
  mary: { name: 'Mary Jackson', email: 'mary@example.com', role: 'user', for: 'address not verified' },
  edsger: { name: 'Edsger Dijkstra', email: 'edsger@example.com', role: 'user', for: 'locked for wrong passwords' },
  kim: { name: 'Kim Doe', email: 'kim@example.com', role: 'user', for: 'disabled' },
} as const;
export type Name = keyof typeof accounts;

type Answer = { status: number; location: string; json: Record<string, unknown> };
type Request = { json?: unknown; form?: Record<string, string>; authorization?: string };
export type Client = { client_id: string; client_secret: string | null; redirect_uri: string };

export const devices = {
  desk: {
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0',
    address: '192.0.2.17',
  },
  phone: {
    userAgent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 26_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1',
    address: '203.0.113.80',
  },
};
type Device = (typeof devices)['desk'];

/** A browser with its cookies, or a program without any. A status of 400 and more is an error unless `mayFail`. */
export class Agent {
  readonly #app: FastifyInstance;
  readonly #origin: string;
  readonly #device: Device;
  readonly cookies = new Map<string, string>();
  constructor(app: FastifyInstance, origin: string, device = devices.desk) {
    this.#app = app;
    this.#origin = origin;
    this.#device = device;
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
        cookie: [...this.cookies].map((pair) => pair.join('=')).join('; '),
        ...(form || json !== undefined ? { 'content-type': type } : {}),
        ...(authorization === undefined ? {} : { authorization }),
        'user-agent': this.#device.userAgent,
      },
      remoteAddress: this.#device.address,
    });
    for (const { name, value } of response.cookies) this.cookies.set(name, value);
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

export type World = {
  /** Who is signed in, and with which id. */
  as: Record<Name, Agent>;
  ids: Record<Name, string>;
  clients: Record<'notes' | 'planner' | 'weather' | 'lookalike', Client>;
  webhook_id: string;
  /** Ada is asked about a token that came twice. */
  alert_id: string;
  totpSecret: string;
};

/** @param pass lets seconds pass between what is old and what is new; left out, all of it is of this moment. */
export async function seed(
  deps: Deps,
  app: FastifyInstance,
  pass?: (seconds: number) => Promise<void>,
): Promise<World> {
  const origin = deps.config.baseUrl;
  const agent = () => new Agent(app, origin);
  const ids = {} as Record<Name, string>;
  const as = {} as Record<Name, Agent>;
  const signIn = (name: Name) =>
    as[name].send('POST', '/signin', { form: { username: accounts[name].email, password } });
  for (const [name, { for: _, ...account }] of Object.entries(accounts) as [Name, (typeof accounts)[Name]][]) {
    ids[name] = await createUser(deps, { ...account, password, emailVerified: name !== 'mary' }, 'cli');
    as[name] = agent();
    await signIn(name);
  }
  const later = async (seconds: number) => {
    if (!pass) return;
    await pass(seconds);
    for (const name of ['ada', 'grace', 'alan'] as const) await signIn(name);
  };

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
  const weather = await register('alan', 'Weather Widget', {
    client_type: 'public',
    initiate_login_uri: 'https://weather-widget.example.com/login',
  });
  await review(weather, 'approve', { revision: 1, consent: 'skip' });
  const coupons = await register('alan', 'Coupon Finder');
  await review(coupons, 'approve', { revision: 1, consent: 'skip' });
  await review(coupons, 'suspend', { reason: 'It sends unwanted mail.' });
  const intranet = readRegistration({
    name: 'Intranet',
    client_type: 'confidential',
    redirect_uris: ['https://intranet.example.com/callback'],
    homepage_url: 'https://intranet.example.com/',
  });
  const operator = { actor: 'cli' } as const;
  const { client } = await registerClient(deps, { owner_user_id: null, caller: operator }, intranet);
  await approveClient(deps, { client_id: client.client_id, caller: operator }, { revision: 1 });

  for (const name of ['ada', 'alan', 'mary'] as const) await obtainTokens(as[name], weather);
  for (const name of ['ada', 'mary'] as const) await obtainTokens(as[name], notes);

  const terms = {
    name: 'Billing',
    permissions: ['entitlements:write', 'tokens:introspect'],
    products: ['notes', 'maps'],
  };
  const { json: service } = await as.ada.post('/v1/admin/service-credentials', terms);
  const authorization = basic(String(service.client_id), String(service.client_secret));
  const current_period_end = Math.floor(deps.clock() / 1000) + 60 * 86_400;
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
  const { json: webhook } = await as.ada.post('/v1/admin/webhooks', {
    url: 'https://hooks.invalid/signet',
    event_types,
  });
  const { json: off } = await as.ada.post('/v1/admin/webhooks', { url: 'https://old.invalid/signet', event_types });
  await as.ada.post(`/v1/admin/webhooks/${off.webhook_id}/disable`);

  await later(24 * 86_400);
  const lookalike = await register('alan', 'Field N0tes');
  await review(await register('alan', 'Dice Roller'), 'reject', { reason: 'Please say what it needs sign-in for.' });
  await later(5 * 3600);
  const planner = await register('grace', 'Budget Planner');
  await as.grace.send('PATCH', `/v1/oauth/clients/${notes.client_id}`, {
    json: { name: 'Field Notes for Teams', redirect_uris: [notes.redirect_uri, 'https://teams.example.com/callback'] },
  });
  await later(2 * 3600);
  await fail(as.alan, notes, agent());

  for (let wrong = 0; wrong < 5; wrong += 1) {
    await agent().send('POST', '/signin', { form: { username: accounts.edsger.email, password: 'a guess' } }, true);
  }
  await as.ada.post(`/v1/admin/users/${ids.kim}/disable`, { reason: 'Has left the company.' });
  const { refresh_token } = await obtainTokens(as.ada, notes);
  await pass?.(120);
  for (const program of programs) {
    await refresh(new Agent(app, origin, program), notes, String(refresh_token));
    await pass?.(90);
  }
  const { json: asked } = await as.ada.send('GET', '/v1/me/alerts');
  const [alert] = (asked.alerts as { alert_id: string; kind: string }[]).filter(({ kind }) => kind !== 'new_device');
  return {
    as,
    ids,
    clients: { notes, planner, weather, lookalike },
    webhook_id: String(webhook.webhook_id),
    alert_id: alert?.alert_id ?? '',
    totpSecret: await enableTotp(as.grace, deps.clock()),
  };
}

/** An authorization request for the user's profile and address, and what its code is redeemed with. */
export function authorizePath({ client_id, redirect_uri }: Client): { path: string; code_verifier: string } {
  const code_verifier = randomBytes(32).toString('base64url');
  const parameters = {
    response_type: 'code',
    client_id,
    redirect_uri,
    scope: 'openid profile email offline_access',
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  return { path: `/oauth/authorize?${new URLSearchParams(parameters)}`, code_verifier };
}

/** The authorization code flow, with a yes where the user is asked. */
export async function obtainTokens(user: Agent, client: Client): Promise<Record<string, unknown>> {
  const { path, code_verifier } = authorizePath(client);
  let { location } = await user.send('GET', path);
  if (location.startsWith('/consent?')) {
    const { json } = await user.send('GET', '/v1/me');
    const [, request = ''] = location.split('request=');
    const answer = { request, user: String(json.user_id), decision: 'allow' };
    const { location: onward } = await user.send('POST', '/consent', { form: answer });
    ({ location } = await user.send('GET', onward));
  }
  const code = new URL(location).searchParams.get('code') ?? '';
  const { client_id, client_secret, redirect_uri } = client;
  const authorization = client_secret === null ? undefined : basic(client_id, client_secret);
  const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier, client_id };
  return (await user.send('POST', '/oauth/token', { form, authorization })).json;
}

/** Who use the same refresh token, one after the other: who has a copy, and the app. */
const programs = [
  { userAgent: 'python-requests/2.32.3', address: '198.51.100.24' },
  { userAgent: 'okhttp/4.12.0', address: devices.phone.address },
];

async function refresh(program: Agent, { client_id, client_secret }: Client, refresh_token: string): Promise<void> {
  const authorization = basic(client_id, client_secret ?? '');
  await program.send(
    'POST',
    '/oauth/token',
    { form: { grant_type: 'refresh_token', refresh_token }, authorization },
    true,
  );
}

/**
 * Failures for the client's owner to read: no code challenge, a redirect URI that is not registered, a code that nobody has
 * issued, and a wrong secret.
 */
async function fail(user: Agent, client: Client, program: Agent): Promise<void> {
  const { client_id, client_secret, redirect_uri } = client;
  const right = { response_type: 'code', client_id, redirect_uri, scope: 'openid' };
  for (const wrong of [right, { ...right, redirect_uri: `${redirect_uri}/` }])
    await user.send('GET', `/oauth/authorize?${new URLSearchParams(wrong)}`, {}, true);
  const form = { grant_type: 'authorization_code', code: 'ac_unknown', redirect_uri, code_verifier: 'v'.repeat(43) };
  for (const secret of [client_secret ?? '', 'wrong'])
    await program.send('POST', '/oauth/token', { form, authorization: basic(client_id, secret) }, true);
}

/** @param at milliseconds since 1970. */
export async function enableTotp(user: Agent, at: number): Promise<string> {
  const { json } = await user.post('/v1/me/2fa/totp/enroll');
  const totpSecret = String(json.secret_base32);
  const code = new TOTP({ secret: Secret.fromBase32(totpSecret) }).generate({ timestamp: at });
  await user.post('/v1/me/2fa/totp/confirm', { code });
  return totpSecret;
}
