import assert from 'node:assert/strict';
import { newGroup } from './groups.ts';
import { linkIn } from './mailbox.ts';
import { plain } from './plain-sql.ts';
import { type RegisteredClient, redirectedTo } from './relying-party.ts';
import { type Directory, userSchemas } from './scim.ts';
import type { Random } from './seeded-random.ts';
import type { Signet } from './signet.ts';
import type { TestUser } from './test-user.ts';
import { acceptConfirmation, followUpstream, signInUpstream, type Upstream } from './upstream.ts';

export type World = {
  signet: Signet;
  upstream: Upstream;
  administrator: TestUser;
  directory: Directory;
  random: Random;
  strays: Set<string>;
};

/** What somebody does whose rows are in several parts of the store. */
export type Act = {
  send(): Promise<{ status: number }>;
  /** Whether all of it is there, as somebody sees it. */
  isDone(): Promise<boolean>;
  /** By hand, after it was cut off; the same again by default. */
  again?(): Promise<{ status: number }>;
};

const password = 'ordinary words in a row';
let made = 0;
const pathOf = ({ pathname, search }: URL) => pathname + search;
const unique = (word: string) => {
  made += 1;
  return `${word}${made}`;
};
const newAddress = () => `${unique('cut')}@example.com`;

/** An address that leads to another part of the store than that of a user. */
function addressElsewhere({ deps }: Signet, user_id: string): string {
  for (;;) {
    const email = newAddress();
    if (deps.db.in(deps.placement.bucketOfEmail(email)) !== deps.db.of(user_id)) return email;
  }
}

const signsInAs = async (user: TestUser, email: string) =>
  (await user.with({ email }).elsewhere().signIn()).location === '/account';

export async function refreshes(client: RegisteredClient, held: { refresh_token: string }): Promise<boolean> {
  const answer = await client.refresh(held.refresh_token);
  if (answer.status === 200) Object.assign(held, answer.json);
  return answer.status === 200;
}

const patchOf = (value: object) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations: [{ op: 'replace', value }],
});

async function upstreamAccount({ signet, upstream }: World, email = newAddress()): Promise<string> {
  upstream.account = { sub: unique('sub-'), email, email_verified: true, name: 'Ada' };
  await signet.newBrowser().get('/signin');
  return email;
}

export const acts: Record<string, (world: World) => Promise<Act>> = {
  async 'a person changes the address'({ signet }) {
    const ada = await signet.signedInUser();
    const email = addressElsewhere(signet, ada.user_id);
    await ada.browser.post('/account/email/change', { email });
    const path = linkIn(await signet.mailbox.next(email), /^\/verify-email\//);
    return { send: () => ada.browser.post(path), isDone: () => signsInAs(ada, email) };
  },
  async 'an administrator changes the address of a person'({ signet, administrator }) {
    const ada = await signet.newUser();
    const email = addressElsewhere(signet, ada.user_id);
    const path = `/v1/admin/users/${ada.user_id}`;
    return {
      send: () => administrator.browser.patch(path, { email, email_verified: true, reason: 'Married.' }),
      isDone: () => signsInAs(ada, email),
    };
  },
  async 'a directory makes an account'({ directory }) {
    const email = newAddress();
    return {
      send: () =>
        directory.send('POST', '/Users', { schemas: userSchemas, userName: email, emails: [{ value: email }] }),
      isDone: async () => {
        const found = await directory.ok(200, 'GET', `/Users?filter=${encodeURIComponent(`userName eq "${email}"`)}`);
        return found.totalResults === 1;
      },
    };
  },
  async 'a directory changes an address'({ signet, directory }) {
    const old = newAddress();
    const body = { schemas: userSchemas, userName: old, emails: [{ value: old, primary: true }] };
    const { id } = await directory.ok(201, 'POST', '/Users', body);
    const email = addressElsewhere(signet, String(id));
    return {
      send: () =>
        directory.send(
          'PATCH',
          `/Users/${id}`,
          patchOf({ userName: email, emails: [{ value: email, primary: true }] }),
        ),
      isDone: async () => {
        const { userName, emails } = await directory.ok(200, 'GET', `/Users/${id}`);
        return userName === email && (emails as { value: string }[])[0]?.value === email;
      },
    };
  },
  async 'somebody signs up with a username'({ signet }) {
    const browser = signet.newBrowser();
    const email = newAddress();
    const username = unique('cutname');
    await browser.post('/signup', { email });
    const path = linkIn(await signet.mailbox.next(email), /^\/signup\//);
    await browser.get(path);
    return {
      send: () => browser.post(path, { name: 'Ada', password, preferred_username: username }),
      isDone: async () => {
        const fresh = signet.newBrowser();
        await fresh.post('/signin', { username: email, password });
        return (await fresh.get('/v1/me')).json?.email === email;
      },
    };
  },
  async 'a person changes the username'({ signet }) {
    const ada = await signet.signedInUser();
    const first = unique('cutname');
    assert.equal((await ada.browser.patch('/v1/me', { preferred_username: first })).status, 200);
    const second = unique('cutname');
    return {
      send: () => ada.browser.patch('/v1/me', { preferred_username: second }),
      isDone: async () => (await ada.browser.get('/v1/me')).json?.preferred_username === second,
    };
  },
  async 'somebody signs in with a provider for the first time'(world) {
    const email = await upstreamAccount(world);
    const { account } = world.upstream;
    const send = async (browser = world.signet.newBrowser()) => {
      world.upstream.account = account;
      const { answer } = await signInUpstream(browser).catch(() => ({ answer: { status: 503 } }));
      return answer;
    };
    return {
      send: () => send(),
      async isDone() {
        const browser = world.signet.newBrowser();
        await send(browser);
        return (await browser.get('/v1/me')).json?.email === email;
      },
    };
  },
  async 'a person links a provider'(world) {
    const ada = await world.signet.signedInUser();
    await upstreamAccount(world);
    const { account } = world.upstream;
    const link = async () => {
      world.upstream.account = account;
      const begun = await ada.browser.post('/account/security/providers/acme');
      if (begun.status !== 303) return begun;
      return acceptConfirmation(ada.browser, await ada.browser.get(pathOf(await followUpstream(begun.location))));
    };
    return {
      send: link,
      async isDone() {
        const { identities } = (await ada.browser.get('/v1/me')).json as { identities: unknown[] };
        return identities.length === 1;
      },
    };
  },
  async 'a person allows an app what it asks for'({ signet }) {
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ consent: 'required' });
    const asked = async () => redirectedTo(await user.browser.get(client.authorizePath())).get('request') ?? '';
    const request = await asked();
    const allow = (request: string) =>
      user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
    return {
      send: () => allow(request),
      isDone: async () => redirectedTo(await user.browser.get(client.authorizePath())).has('code'),
      again: async () => allow(await asked()),
    };
  },
  async 'a developer registers an app'({ signet }) {
    const user = await signet.signedInUser();
    const name = unique('Cut app ');
    const body = {
      name,
      client_type: 'confidential',
      redirect_uris: ['https://rp.test/cb'],
      allowed_scopes: ['openid'],
    };
    return {
      send: () => user.browser.postJson('/v1/oauth/clients', body),
      async isDone() {
        const { clients } = (await user.browser.get('/v1/oauth/clients')).json as { clients: { name: string }[] };
        return clients.some((client) => client.name === name);
      },
    };
  },
  async 'an administrator suspends an app that people use'({ signet, administrator }) {
    const client = await signet.registerClient();
    const held: { access_token: string }[] = [];
    for (let n = 0; n < 3; n += 1) held.push(await (await signet.signedInUser()).obtainTokens(client));
    const path = `/v1/admin/clients/${client.client_id}`;
    return {
      send: () => administrator.browser.postJson(`${path}/suspend`, { reason: 'It leaked its secret.' }),
      async isDone() {
        const alive = await Promise.all(
          held.map(async (one) => (await signet.userinfo(one.access_token)).status === 200),
        );
        const { status } = (await administrator.browser.get(path)).json as { status: string };
        if (status !== 'suspended') assert.ok(!alive.includes(false), 'an app that is not suspended keeps its tokens');
        else assert.ok(!alive.includes(true), 'a suspended app has no token left');
        const left = `select 1 from grants where client_id = '${client.client_id}' and revoked_at is null`;
        if (status === 'suspended') assert.deepEqual(await plain(signet.deps.db).all(left), []);
        return status === 'suspended';
      },
    };
  },
  async 'a developer deletes an app that people use'({ signet }) {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ owner });
    const held = await (await signet.signedInUser()).obtainTokens(client);
    const path = `/v1/oauth/clients/${client.client_id}`;
    return {
      send: () => owner.browser.delete(path),
      async isDone() {
        const isGone = (await owner.browser.get(path)).status === 404;
        const isAlive = (await signet.userinfo(held.access_token)).status === 200;
        assert.equal(isAlive, !isGone);
        return isGone;
      },
    };
  },
  async 'an administrator deletes an app that is told of ends'({ signet, administrator }) {
    const client = await signet.registerClient({ backchannel_logout_uri: 'https://rp.test/ended' });
    const held: { access_token: string }[] = [];
    for (let n = 0; n < 3; n += 1) held.push(await (await signet.signedInUser()).obtainTokens(client));
    const path = `/v1/admin/clients/${client.client_id}`;
    return {
      send: () => administrator.browser.delete(path, { reason: 'Nobody needs it.' }),
      async isDone() {
        const isGone = (await administrator.browser.get(path)).status === 404;
        const answers = held.map(async (one) => (await signet.userinfo(one.access_token)).status === 200);
        assert.deepEqual(
          await Promise.all(answers),
          held.map(() => !isGone),
          'an app that stays keeps its tokens, and one that is gone has none',
        );
        const told = `select user_id from logout_deliveries where client_id = '${client.client_id}'`;
        if (isGone) assert.equal((await plain(signet.deps.db).all(told)).length, held.length, 'it is told of each end');
        return isGone;
      },
    };
  },
  async 'a person deletes the account, who has an app'({ signet, administrator }) {
    const ada = await signet.signedInUser();
    const client = await signet.registerClient({ owner: ada });
    const username = unique('cutname');
    assert.equal((await ada.browser.patch('/v1/me', { preferred_username: username })).status, 200);
    return {
      send: () => ada.browser.post('/account/delete', { email: ada.email }),
      async isDone() {
        const isGone = (await administrator.browser.get(`/v1/admin/users/${ada.user_id}`)).status === 404;
        const app = (await administrator.browser.get(`/v1/admin/clients/${client.client_id}`)).json;
        if (isGone) assert.notEqual(app?.owner_user_id, ada.user_id, 'an app has no owner who is not there');
        return isGone;
      },
    };
  },
  async 'an administrator puts a person into a group'({ signet, administrator }) {
    const ada = await signet.newUser();
    const { group_id } = await newGroup(signet, unique('Cut group '));
    const path = `/v1/admin/groups/${group_id}/members`;
    return {
      send: () => administrator.browser.postJson(path, { user: ada.user_id }),
      async isDone() {
        const { members } = (await administrator.browser.get(path)).json as { members: { user_id: string }[] };
        return members.some(({ user_id }) => user_id === ada.user_id);
      },
    };
  },
  async 'a person signs in on the way to an app'({ signet }) {
    const user = await signet.newUser();
    const client = await signet.registerClient();
    const request = redirectedTo(await user.browser.get(client.authorizePath())).get('request') ?? '';
    const signIn = () => user.signIn({ request });
    return {
      send: signIn,
      isDone: async () => (await user.browser.get(client.authorizePath())).location?.includes('code=') ?? false,
    };
  },
  async 'a person chooses a new password by a link'({ signet }) {
    const ada = await signet.signedInUser();
    const browser = signet.newBrowser();
    await browser.post('/reset', { email: ada.email });
    const path = linkIn(await signet.mailbox.next(ada.email), /^\/reset\//);
    await browser.get(path);
    const fresh = 'harbour velvet cactus ninety';
    return {
      send: () => browser.post(path, { password: fresh }),
      isDone: async () => (await ada.with({ password: fresh }).elsewhere().signIn()).location === '/account',
    };
  },
};
