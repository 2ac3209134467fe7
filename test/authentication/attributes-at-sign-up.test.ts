import assert from 'node:assert/strict';
import { newAttribute } from '../support/attributes.ts';
import { onBothEngines } from '../support/databases.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { linkIn } from '../support/mailbox.ts';
import { message, sentence } from '../support/messages.ts';
import { redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { signInUpstream } from '../support/upstream.ts';

const password = 'harbour velvet cactus ninety';
const person = { editable_by: 'person' } as const;

async function opened(signet: Signet, email: string) {
  const browser = signet.newBrowser();
  await browser.post('/signup', { email });
  return { browser, path: linkIn(await signet.mailbox.next(email), /^\/signup\//) };
}

/** One of each kind, by what a stranger may say of it. */
async function define(signet: Signet) {
  const ids: Record<string, string> = {};
  const add = async (name: string, wanted: Parameters<typeof newAttribute>[2]) => {
    ids[name] = (await newAttribute(signet, name, wanted)).attribute_id;
  };
  await add('customer_type', { ...person, sign_up: 'required', choices: ['private', 'business'] });
  await add('newsletter', { ...person, sign_up: 'offered', value_type: 'boolean' });
  await add('motto', person);
  await add('department', {});
  await add('risk', { is_shown: false });
  return ids;
}

onBothEngines('UA-05: a stranger says at sign-up what the form asks for, and nothing else', async (t, engine) => {
  const signet = await startSignet(t, { engine, mail: true });
  const ids = await define(signet);
  const { browser, path } = await opened(signet, 'new@example.com');
  const page = await browser.get(path);
  for (const name of ['customer_type', 'newsletter']) assert.match(page.text, new RegExp(`<select id="${ids[name]}"`));
  for (const name of ['motto', 'department', 'risk']) assert.doesNotMatch(page.text, new RegExp(ids[name]!));
  assert.match(page.text, /The newsletter \(optional\)/);

  const more = {
    [ids.motto!]: 'x',
    [ids.department!]: 'Board',
    [ids.risk!]: 'none',
    department: 'Board',
    attributes: '{}',
  };
  const form = { name: 'Ada', password, ...more };
  for (const [fields, what] of [
    [{}, 'problem.attribute.required'],
    [{ [ids.customer_type!]: ' ' }, 'problem.attribute.required'],
    [{ [ids.customer_type!]: 'both' }, 'problem.attribute.no_choice'],
  ] as const) {
    const refused = await browser.post(path, { ...form, ...fields });
    assert.equal(refused.status, 400);
    assert.ok(refused.text.includes(`The customer_type: ${message(what)}`), refused.text);
  }
  const both = await browser.post(path, { ...form, password: 'short' });
  assert.match(both.text, sentence('problem.attribute.required'));
  assert.match(both.text, sentence('problem.password.short', { min: 15 }));
  const made = await browser.post(path, { ...form, [ids.customer_type!]: 'private', [ids.newsletter!]: 'true' });
  assert.deepEqual([made.status, made.location], [303, '/account'], made.text);
  const me = (await browser.get('/v1/me')).json;
  assert.deepEqual(me?.attributes, { customer_type: 'private', newsletter: true });
  const admin = await signet.signedInUser({ role: 'admin' });
  const record = (await admin.browser.get(`/v1/admin/users/${me?.user_id}`, { accept: 'application/json' })).json;
  assert.deepEqual(record?.attributes, { customer_type: 'private', newsletter: true });
  const [event] = await signet.auditLog({ action: 'user.created', target: String(me?.user_id) });
  assert.deepEqual(JSON.parse(event!.after_state!), { role: 'user', fields: ['customer_type', 'newsletter'] });

  // By an invitation, too.
  await admin.browser.post('/admin/users/invite', { email: 'invited@example.com', name: '', role: '' });
  const join = /(\/join\/ln_[\w-]{43})/.exec((await signet.mailbox.next('invited@example.com')).text)?.[1] ?? '';
  const guest = signet.newBrowser();
  await guest.get(join);
  assert.equal((await guest.post(join, form)).status, 400);
  assert.equal((await guest.post(join, { ...form, [ids.customer_type!]: 'business' })).status, 303);
  assert.deepEqual((await guest.get('/v1/me')).json?.attributes, { customer_type: 'business' });
});

onBothEngines(
  'what is required is asked of those who come from a provider before an app gets them',
  async (t, engine) => {
    const { signet, upstream } = await startFederatedSignet(t, { engine });
    const ids = await define(signet);
    upstream.account = { ...upstream.account, customer_type: 'business', department: 'Board' };
    const browser = signet.newBrowser();
    await signInUpstream(browser);
    const me = (await browser.get('/v1/me')).json;
    assert.deepEqual(me?.attributes, {});
    const client = await signet.registerClient();

    const silent = redirectedTo(await browser.get(client.authorizePath({ prompt: 'none' })));
    assert.deepEqual([silent.get('error'), silent.get('code')], ['interaction_required', null]);
    const asked = await browser.get(client.authorizePath());
    assert.match(asked.location ?? '', /^\/signin\/details\?request=/);
    const request = new URL(asked.location ?? '', signet.url).searchParams.get('request') ?? '';
    const page = await browser.get(asked.location ?? '');
    assert.match(page.text, sentence('details.title'));
    assert.match(page.text, new RegExp(`<select id="${ids.customer_type}"`));
    for (const name of ['newsletter', 'motto', 'department', 'risk'])
      assert.doesNotMatch(page.text, new RegExp(ids[name]!));

    const user = String(me?.user_id);
    const post = (fields: Record<string, string>) => browser.post('/signin/details', { request, user, ...fields });
    const others = { [ids.department!]: 'Board', [ids.motto!]: 'x', [ids.risk!]: 'none' };
    const refused = await post(others);
    assert.equal(refused.status, 400);
    assert.match(refused.text, sentence('problem.attribute.required'));
    // For another user than the one who is signed in.
    const other = await post({ user: 'usr_other', [ids.customer_type!]: 'private' });
    assert.deepEqual([other.status, other.location], [303, `/signin/details?request=${request}`]);
    assert.deepEqual((await browser.get('/v1/me')).json?.attributes, {});
    const saved = await post({ ...others, [ids.customer_type!]: 'private' });
    assert.equal(saved.status, 303, saved.text);
    assert.ok(redirectedTo(await browser.get(saved.location ?? '')).get('code'));
    assert.deepEqual((await browser.get('/v1/me')).json?.attributes, { customer_type: 'private' });
    assert.ok(redirectedTo(await browser.get(client.authorizePath({ prompt: 'none' }))).get('code'));
  },
);

testSignet('what becomes required is asked at the next sign-in, and tokens that are held go on', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const held = await user.obtainTokens(client);
  const { attribute_id } = await newAttribute(signet, 'terms', {
    ...person,
    sign_up: 'required',
    value_type: 'boolean',
  });
  assert.equal((await client.refresh(held.refresh_token)).status, 200);
  assert.match((await user.browser.get(client.authorizePath())).location ?? '', /^\/signin\/details/);
  // The account itself stays open, and has the field.
  const page = await user.browser.get('/account');
  assert.match(page.text, new RegExp(`<select id="${attribute_id}"[^>]* required`));
  assert.equal((await user.browser.patch('/v1/me', { attributes: { terms: true } })).status, 200);
  assert.ok(redirectedTo(await user.browser.get(client.authorizePath())).get('code'));
  const emptied = await user.browser.patch('/v1/me', { attributes: { terms: null } });
  assert.equal(emptied.status, 400);
  const admin = await signet.signedInUser({ role: 'admin' });
  await admin.browser.patch('/v1/me', { attributes: { terms: true } });
  const body = { attributes: { terms: null }, reason: 'To be asked again.' };
  assert.equal((await admin.browser.patch(`/v1/admin/users/${user.user_id}`, body)).status, 200);
  assert.match((await user.browser.get(client.authorizePath())).location ?? '', /^\/signin\/details/);
});
