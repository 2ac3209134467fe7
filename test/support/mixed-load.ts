import assert from 'node:assert/strict';
import { type Answer, type Browser, newBrowser } from './browser.ts';
import { linkIn, type Mailbox } from './mailbox.ts';
import { basic, RegisteredClient, redirectedTo, tokensOf } from './relying-party.ts';
import type { Random } from './seeded-random.ts';
import { postEntitlement, writeOf } from './services.ts';
import { totpAt } from './two-factor.ts';

/**
 * What an answer said is so, from when it had arrived until a request was sent that may end it, both in bytes of the record of
 * the disk. It is looked up by a server at the same address.
 */
export type Effect = { what: string; answeredAt: number; endingAt: number; holds(): Promise<boolean> };

/** Notes what was answered. @param place of the present moment. */
export class Effects {
  readonly all: Effect[] = [];
  readonly #place: () => number;

  constructor(place: () => number) {
    this.#place = place;
  }

  add(what: string, holds: Effect['holds']): Effect {
    const effect = { what, answeredAt: this.#place(), endingAt: Number.POSITIVE_INFINITY, holds };
    this.all.push(effect);
    return effect;
  }

  /** Call it before the request. */
  ending(...effects: (Effect | undefined)[]): void {
    for (const effect of effects) if (effect) effect.endingAt = this.#place();
  }

  /** Those that are so when the record ends there. */
  at = (place: number): Effect[] =>
    this.all.filter(({ answeredAt, endingAt }) => answeredAt <= place && place <= endingAt);
}

type Given = { url: string; effects: Effects; random: Random; mailbox: Mailbox };
type Chain = { client: RegisteredClient; refresh_token: string; refreshes: Effect; access: Effect };
type Person = {
  email: string;
  password: string;
  browser: Browser;
  session: Effect;
  name?: Effect;
  /** What only they can look up, in the session that they have now. */
  own: Effect[];
  user_id: string;
  version: number;
  chains: Chain[];
};

function expect(answer: Answer, status = 200): Answer {
  assert.equal(answer.status, status, answer.text);
  return answer;
}

/** The browser as it is now, so that looking at a copy of the store changes no cookie of the next look. */
function look({ url }: Given, browser: Browser, path: string): () => Promise<Answer> {
  const cookies = [...browser.cookies];
  return () => {
    const same = newBrowser(url);
    for (const [name, value] of cookies) same.cookies.set(name, value);
    return same.get(path);
  };
}

const isIn = (given: Given, browser: Browser) => {
  const read = look(given, browser, '/v1/me');
  return async () => (await read()).status === 200;
};
const isOut = (given: Given, browser: Browser) => {
  const read = look(given, browser, '/v1/me');
  return async () => (await read()).status === 401;
};
const isActive =
  (client: RegisteredClient, token: string, active = true) =>
  async () =>
    (await client.introspect(token)).json?.active === active;

const password = 'ordinary words in a row';
const redirect_uri = 'https://rp.test/cb';

/** The first administrator, whom the link made that the server printed, with a client and a service credential. */
export async function beginLoad(given: Given, link: string) {
  const { url, effects } = given;
  const browser = newBrowser(url);
  const path = new URL(link).pathname;
  expect(await browser.post(path, { email: 'first@example.com', name: 'First', password }), 303);
  effects.add('the first administrator is signed in', isIn(given, browser));
  const postJson = async (to: string, body: object) => expectJson(browser.postJson(to, body));
  const registration = { name: 'Product', client_type: 'confidential', redirect_uris: [redirect_uri] };
  const scopes = ['openid', 'profile', 'email', 'offline_access'];
  const registered = await postJson('/v1/admin/clients', { ...registration, allowed_scopes: scopes });
  await postJson(`/v1/admin/clients/${registered.client_id}/approve`, { revision: registered.revision });
  const client = new RegisteredClient(given, { ...(registered as Registered), redirect_uri });
  const read = look(given, browser, `/v1/admin/clients/${client.client_id}`);
  effects.add('the client is approved', async () => (await read()).json?.status === 'approved');
  const terms = { name: 'Billing', permissions: ['entitlements:write'], products: ['editor'] };
  const service = await postJson('/v1/admin/service-credentials', terms);
  return { ...given, browser, client, authorization: basic(String(service.client_id), String(service.client_secret)) };
}

type Registered = { client_id: string; client_secret: string };
type Load = Awaited<ReturnType<typeof beginLoad>>;

async function expectJson<Json extends Record<string, unknown>>(answering: Promise<Answer>): Promise<Json> {
  const { status, text, json } = await answering;
  assert.ok(status < 300, text);
  return json as Json;
}

/** Signs up by the link in a mail. */
async function signUp(load: Load, email: string): Promise<Person> {
  const { url, effects, mailbox } = load;
  const browser = newBrowser(url);
  expect(await browser.post('/signup', { email }), 303);
  const link = linkIn(await mailbox.next(email), /^\/signup\//);
  expect(await browser.post(link, { name: 'Person', password }), 303);
  const session = effects.add(`${email} has an account and is signed in`, isIn(load, browser));
  const { user_id } = (await browser.get('/v1/me')).json as { user_id: string };
  return { email, password, browser, session, user_id, version: 0, chains: [], own: [] };
}

async function signIn({ url, effects, ...load }: Load, { email, password }: Person) {
  const browser = newBrowser(url);
  expect(await browser.post('/signin', { username: email, password }), 303);
  return { browser, session: effects.add('signed in', isIn({ url, effects, ...load }, browser)) };
}

async function exchange({ client, effects }: Load, browser: Browser): Promise<Chain> {
  const code = redirectedTo(await browser.get(client.authorizePath())).get('code') ?? '';
  const { access_token, refresh_token } = tokensOf(await client.redeem(code));
  const access = effects.add('an exchanged code: the access token', isActive(client, access_token));
  return {
    client,
    refresh_token,
    access,
    refreshes: effects.add('… the refresh token', isActive(client, refresh_token)),
  };
}

async function refresh({ effects }: Load, chain: Chain): Promise<void> {
  const { client, refresh_token } = chain;
  effects.ending(chain.refreshes);
  const next = tokensOf(await client.refresh(refresh_token));
  effects.add('a refresh: the token before', isActive(client, refresh_token, false));
  chain.refreshes = effects.add('… its successor', isActive(client, next.refresh_token));
  chain.refresh_token = next.refresh_token;
}

async function revoke({ effects }: Load, { client, refresh_token, refreshes, access }: Chain): Promise<void> {
  effects.ending(refreshes, access);
  expect(await client.post('/oauth/revoke', { token: refresh_token }));
  effects.add('a revocation', isActive(client, refresh_token, false));
}

/** Tokens that were got in a session end with it. */
async function signInAndOut(load: Load, person: Person): Promise<void> {
  const { browser, session } = await signIn(load, person);
  const chain = await exchange(load, browser);
  const ended = isOut(load, browser);
  load.effects.ending(session, chain.access, chain.refreshes);
  expect(await browser.post('/signout'), 303);
  load.effects.add('a sign-out: the session', ended);
  load.effects.add('… the refresh token', isActive(chain.client, chain.refresh_token, false));
}

async function rename(load: Load, person: Person): Promise<void> {
  const name = `Person ${load.random.below(1e6)}`;
  load.effects.ending(person.name);
  expect(await person.browser.patch('/v1/me', { name }));
  const read = look(load, person.browser, '/v1/me');
  person.name = load.effects.add('another name', async () => (await read()).json?.name === name);
}

async function entitle(load: Load, person: Person): Promise<void> {
  person.version += 1;
  const { user_id, version } = person;
  const { status } = await postEntitlement(load, load.authorization, writeOf(user_id, { version }));
  assert.equal(status, 200);
  const read = look(load, load.browser, `/v1/admin/users/${user_id}/entitlements`);
  load.effects.add('an entitlement', async () => {
    const { entitlements } = (await read()).json as { entitlements: { version: number }[] };
    return (entitlements[0]?.version ?? 0) >= version;
  });
}

/** A client of one's own with another secret. */
async function register(load: Load, { browser, own }: Person): Promise<void> {
  const body = { name: 'Own', client_type: 'confidential', redirect_uris: [redirect_uri], allowed_scopes: ['openid'] };
  const { client_id } = await expectJson(browser.postJson('/v1/oauth/clients', body));
  const path = `/v1/oauth/clients/${client_id}`;
  const read = look(load, browser, path);
  own.push(load.effects.add('a registration', async () => (await read()).status === 200));
  const { secret_id } = await expectJson(browser.postJson(`${path}/secrets`, {}));
  const readSecrets = look(load, browser, `${path}/secrets`);
  own.push(load.effects.add('another secret', async () => (await readSecrets()).text.includes(String(secret_id))));
}

/** Ends the sessions elsewhere, and replaces the own one. Half of them then get a second factor, or are disabled. */
async function changeSecurity(load: Load, person: Person, place: number): Promise<void> {
  const { effects, browser: administrator } = load;
  const { browser, user_id, email } = person;
  const elsewhere = await signIn(load, person);
  effects.ending(person.session, elsewhere.session, person.name, ...person.own);
  for (const { access, refreshes } of person.chains) effects.ending(access, refreshes);
  const next = `harbour velvet cactus ${place}`;
  expect(await browser.postJson('/v1/me/password', { password: next }), 204);
  person.session = effects.add('a change of the password: the session', isIn(load, browser));
  effects.add('… the session elsewhere', isOut(load, elsewhere.browser));
  const signsIn = effects.add('… the password', async () => {
    const { status, location } = await newBrowser(load.url).post('/signin', { username: email, password: next });
    return status === 303 && location === '/account';
  });
  if (place % 2 === 0) {
    const { secret_base32 } = expect(await browser.postEmpty('/v1/me/2fa/totp/enroll')).json as {
      secret_base32: string;
    };
    effects.ending(signsIn, person.session);
    expect(await browser.postJson('/v1/me/2fa/totp/confirm', { code: totpAt(secret_base32, Date.now() / 1000) }));
    const read = look(load, browser, '/v1/me');
    effects.add('a second factor', async () => (await read()).json?.two_factor_enabled === true);
  } else {
    const ended = isOut(load, browser);
    effects.ending(signsIn, person.session);
    await expectJson(administrator.postJson(`/v1/admin/users/${user_id}/disable`, { reason: 'Left.' }));
    effects.add('a user who was disabled', ended);
  }
}

async function administer({ effects, browser, ...load }: Load): Promise<void> {
  const hook = { name: 'Hook', url: 'https://hooks.example.com/x', event_types: ['user.disabled'] };
  const { webhook_id } = await expectJson(browser.postJson('/v1/admin/webhooks', hook));
  const read = look({ effects, ...load }, browser, '/v1/admin/webhooks');
  effects.add('a webhook', async () => (await read()).text.includes(String(webhook_id)));
  const { keys } = await expectJson<{ keys: { kid: string }[] }>(browser.postJson('/v1/admin/keys/rotate', {}));
  const readKeys = look({ effects, ...load }, browser, '/v1/admin/keys');
  effects.add('the signing keys', async () => {
    const { text } = await readKeys();
    return keys.every(({ kid }) => text.includes(kid));
  });
}

/** Some people at the same time, each of whom does one thing after the other. */
export async function runLoad(load: Load, people: number, steps: number): Promise<void> {
  const { random } = load;
  const onePerson = async (place: number) => {
    const person = await signUp(load, `person${place}@example.com`);
    const { browser, chains } = person;
    chains.push(await exchange(load, browser));
    const acts: (() => Promise<unknown>)[] = [
      async () => chains.push(await exchange(load, browser)),
      () => refresh(load, random.pick(chains)),
      () => refresh(load, random.pick(chains)),
      () => rename(load, person),
      () => entitle(load, person),
      async () => chains.length > 1 && revoke(load, chains.pop()!),
    ];
    await signInAndOut(load, person);
    await register(load, person);
    for (let step = 0; step < steps; step += 1) await random.pick(acts)();
    if (place % 2 === 0) await administer(load);
    await changeSecurity(load, person, place);
  };
  await Promise.all(Array.from({ length: people }, (_, place) => onePerson(place)));
}
