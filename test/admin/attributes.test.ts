import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isReservedClaim, maxAttributes } from '../../src/attributes/attribute.ts';
import { deleteAttribute } from '../../src/attributes/manage-attributes.ts';
import { builtInScopes } from '../../src/clients/scopes.ts';
import { Userinfo } from '../../src/oauth/discovery/userinfo.ts';
import { newAttribute } from '../support/attributes.ts';
import { onBothEngines } from '../support/databases.ts';
import { sentence } from '../support/messages.ts';
import { claimsOf } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';

const caller = { actor: 'cli' } as const;
const path = '/v1/admin/attributes';
const department = { name: 'department', label_en: 'Department', type: 'string', scope: 'profile' };

onBothEngines('attributes are defined, changed and deleted by API, and the log says who', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const { browser, user_id } = await signet.signedInUser({ role: 'admin' });
  const made = await browser.postJson(path, { ...department, label_de: 'Abteilung', choices: ['Sales', 'Service'] });
  assert.equal(made.status, 200, made.text);
  const { attribute_id, created_at, updated_at, ...defined } = made.json as Record<string, unknown>;
  assert.deepEqual(defined, {
    name: 'department',
    labels: { en: 'Department', de: 'Abteilung' },
    type: 'string',
    max_length: 200,
    choices: ['Sales', 'Service'],
    minimum: null,
    maximum: null,
    scope: 'profile',
    editable_by: 'administrator',
    visible_to: 'person',
    sign_up: 'no',
  });
  const edited = await browser.patch(`${path}/${attribute_id}`, {
    choices: null,
    editable_by: 'person',
    max_length: 20,
  });
  assert.deepEqual(
    [edited.json?.choices, edited.json?.editable_by, edited.json?.max_length, edited.json?.labels],
    [null, 'person', 20, { en: 'Department', de: 'Abteilung' }],
    edited.text,
  );
  const { attributes } = (await browser.get(path, { accept: 'application/json' })).json as {
    attributes: { name: string }[];
  };
  assert.deepEqual(
    attributes.map(({ name }) => name),
    ['department'],
  );
  const unchanged = await browser.patch(`${path}/${attribute_id}`, { max_length: 20 });
  assert.equal(unchanged.status, 200, unchanged.text);
  const deleted = await browser.send(`${path}/${attribute_id}`, { method: 'DELETE', headers: { origin: signet.url } });
  assert.equal(deleted.status, 204);
  assert.equal((await browser.get(`${path}/${attribute_id}`, { accept: 'application/json' })).status, 404);
  const log = await signet.auditLog({ target: String(attribute_id) });
  assert.deepEqual(
    log.map(({ action, actor }) => [action, actor]),
    ['attribute.deleted', 'attribute.edited', 'attribute.defined'].map((action) => [action, `user:${user_id}`]),
  );
  assert.deepEqual(JSON.parse(log[1]!.after_state!), { editable_by: 'person', fields: ['rules'] });
});

testSignet('what an attribute cannot be is refused, and changes nothing', async ({ signet }) => {
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const number = { ...department, name: 'badge', type: 'integer' };
  const refusals: [object, string][] = [
    [{ ...department, name: 'two words' }, 'name'],
    [{ ...department, name: '__proto__' }, 'name'],
    [{ ...department, name: 'x'.repeat(61) }, 'name'],
    [{ ...department, label_en: ' ' }, 'labels'],
    [{ ...department, label_en: 'a\u202eb' }, 'labels'],
    [{ ...department, label_en: 'x'.repeat(101) }, 'labels'],
    [{ ...department, type: 'binary' }, 'type'],
    [{ ...department, max_length: 1001 }, 'max_length'],
    [{ ...department, minimum: 1 }, 'minimum'],
    [{ ...department, choices: ['a', 'a '] }, 'choices/1'],
    [{ ...department, choices: ['long'], max_length: 3 }, 'choices/0'],
    [{ ...department, choices: Array.from({ length: 101 }, (_, place) => `${place}`) }, 'choices'],
    [
      {
        ...department,
        choices: Array.from({ length: 99 }, (_, place) => `${place}`.padEnd(50)).map((one) => `${one}x`),
      },
      'choices',
    ],
    [{ ...department, scope: 'openid' }, 'scope'],
    [{ ...department, scope: 'groups' }, 'scope'],
    [{ ...department, scope: 'userinfo:' }, 'scope'],
    [{ ...department, scope: 'userinfo:a b' }, 'scope'],
    [{ ...department, scope: 'work' }, 'scope'],
    [{ ...department, sign_up: 'offered' }, 'sign_up'],
    [{ ...department, editable_by: 'person', visible_to: 'administrators' }, 'visible_to'],
    [{ ...number, max_length: 3 }, 'max_length'],
    [{ ...number, choices: ['1'] }, 'choices'],
    [{ ...number, minimum: 2, maximum: 1 }, 'maximum'],
    [{ ...number, minimum: 0.5 }, 'minimum'],
  ];
  for (const [body, field] of refusals) {
    const answer = await browser.postJson(path, body);
    const fields = (answer.json?.fields ?? []) as { path: string }[];
    assert.deepEqual([answer.status, fields[0]?.path], [400, field], `${JSON.stringify(body)} ${answer.text}`);
  }
  assert.equal((await browser.postJson(path, department)).status, 200);
  const taken = await browser.postJson(path, { ...department, name: 'Department' });
  assert.match(taken.text, sentence('problem.attribute.taken'));
  for (let place = 1; place < maxAttributes; place += 1) await newAttribute(signet, `a${place}`);
  assert.equal((await browser.postJson(path, { ...department, name: 'more' })).status, 409);
  assert.equal((await signet.deps.attributes.read()).all.length, maxAttributes);
});

testSignet('UA-04: no attribute takes the name of a claim that tells who the user is', async ({ signet }) => {
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient({ allowed_scopes: ['openid', 'profile', 'email', 'offline_access'] });
  const { id_token, access_token } = await (await signet.signedInUser()).obtainTokens(client);
  const introspected = (await client.introspect(access_token)).json ?? {};
  const names = new Set([
    ...Object.keys(Userinfo.properties),
    ...Object.values(builtInScopes).flatMap(({ claims }) => claims),
    ...Object.keys({ ...claimsOf(id_token), ...claimsOf(access_token), ...introspected }),
    ...['phone_number', 'phone_number_verified', 'address', 'roles', 'cnf', 'nonce', 'azp', 'sid', 'amr', 'act'],
    ...['Sub', 'GROUPS', 'Email_Verified', 'constructor', 'toString', 'hasOwnProperty'],
  ]);
  assert.ok(names.size > 40);
  for (const name of names) {
    const answer = await browser.postJson(path, { ...department, name });
    const fields = (answer.json?.fields ?? []) as { path: string; message: string }[];
    assert.deepEqual([answer.status, fields[0]?.path], [400, 'name'], `${name} ${answer.text}`);
    assert.match(fields[0]!.message, sentence('problem.attribute.reserved'));
  }
});

test('a claim that gets a meaning of its own is that claim from then on', () => {
  assert.ok(isReservedClaim('Groups') && !isReservedClaim('department'));
});

testSignet(
  'an administrator defines an attribute on the page, and sets a value on that of a user',
  async ({ signet }) => {
    const { browser } = await signet.signedInUser({ role: 'admin' });
    const user = await signet.newUser();
    const form = {
      name: 'department',
      type: 'string',
      label_en: 'Department',
      label_de: '',
      choices: 'Sales\r\nService <b>',
      max_length: '',
      minimum: '',
      maximum: '',
      scope: 'userinfo:work',
      editable_by: 'administrator',
      is_shown: 'on',
      sign_up: 'no',
    };
    const wrong = await browser.post('/admin/attributes', { ...form, scope: 'work' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, sentence('problem.attribute.scope', { max: 60 }));
    assert.match(wrong.text, /value="work"/);
    const made = await browser.post('/admin/attributes', form);
    assert.equal(made.status, 303, made.text);
    const page = await browser.get(made.location ?? '');
    assert.match(page.text, sentence('admin.attributes.done.defined'));
    const [, id = ''] = /attributes\/(atr_[\w-]+)/.exec(made.location ?? '') ?? [];

    const edit = `/admin/users/${user.user_id}/edit`;
    const drawn = await browser.get(edit);
    assert.match(drawn.text, /<option value="Service &lt;b&gt;">/);
    const fields = (more: Record<string, string>) => ({
      ...{ name: 'x', shown_name: 'x', email: user.email, shown_email: user.email, preferred_username: '' },
      ...{ shown_username: '', reason: 'A test.', ...more },
    });
    const refused = await browser.post(edit, fields({ [id]: 'Marketing', drawn_attributes: `{"${id}":""}` }));
    assert.equal(refused.status, 400);
    assert.match(refused.text, /Department: Choose one of the given values/);
    const saved = await browser.post(edit, fields({ [id]: 'Service <b>', drawn_attributes: `{"${id}":""}` }));
    assert.equal(saved.status, 303, saved.text);
    assert.match(
      (await browser.get(`/admin/users/${user.user_id}`)).text,
      /<dt>.*Department.*<\/dt><dd>.*Service &lt;b&gt;/,
    );
    // What was not touched undoes nothing.
    await browser.patch(`/v1/admin/users/${user.user_id}`, {
      attributes: { department: 'Sales' },
      reason: 'Meanwhile.',
    });
    const untouched = await browser.post(
      edit,
      fields({ [id]: 'Service <b>', drawn_attributes: `{"${id}":"Service <b>"}` }),
    );
    assert.equal(untouched.status, 303, untouched.text);
    const record = (await browser.get(`/v1/admin/users/${user.user_id}`, { accept: 'application/json' })).json;
    assert.deepEqual(record?.attributes, { department: 'Sales' });
    await deleteAttribute(signet.deps, caller, id);
    assert.doesNotMatch((await browser.get(`/admin/users/${user.user_id}`)).text, /Department/);
  },
);

onBothEngines('a value that is entered on another node than that of the definition is not lost', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const other = await startSignet(t, { engine, beside: signet });
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const user = await signet.newUser();
  await signet.deps.attributes.read();
  const { attribute_id } = await newAttribute(other, 'department');
  signet.clock.advance(2);
  // The page was drawn by the other node.
  const form = {
    name: 'As drawn',
    shown_name: 'As drawn',
    [attribute_id]: 'Sales',
    drawn_attributes: `{"${attribute_id}":""}`,
  };
  const saved = await browser.post(`/admin/users/${user.user_id}/edit`, { ...form, reason: 'A test.' });
  assert.match(saved.location ?? '', /done=edited/, saved.text);
  const shown = await browser.get(`/v1/admin/users/${user.user_id}`, { accept: 'application/json' });
  assert.deepEqual(shown.json?.attributes, { department: 'Sales' });
});

testSignet('a label in one language is added, changed and removed without the others', async ({ signet }) => {
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const { attribute_id } = await newAttribute(signet, 'department', { labels: { en: 'Department' } });
  const edit = async (body: object) => {
    const answer = await browser.patch(`${path}/${attribute_id}`, body);
    return answer.json?.labels ?? answer.json?.fields;
  };
  assert.deepEqual(await edit({ label_de: 'Abteilung' }), { en: 'Department', de: 'Abteilung' });
  assert.deepEqual(await edit({ label_en: 'Team' }), { en: 'Team', de: 'Abteilung' });
  assert.deepEqual(await edit({ label_en: null }), { de: 'Abteilung' });
  for (const none of [null, '', ' '])
    assert.equal(((await edit({ label_de: none })) as { path: string }[])[0]?.path, 'labels', 'one is left');
  const form = { scope: 'profile', is_shown: 'on', label_en: 'Department', label_de: '' };
  assert.equal((await browser.post(`/admin/attributes/${attribute_id}/edit`, form)).status, 303);
  const shown = await browser.get(`${path}/${attribute_id}`, { accept: 'application/json' });
  assert.deepEqual(shown.json?.labels, { en: 'Department' });
});
