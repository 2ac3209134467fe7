import assert from 'node:assert/strict';
import { maxBytesOfUser } from '../../src/attributes/attribute.ts';
import { editAttribute } from '../../src/attributes/manage-attributes.ts';
import { newAttribute } from '../support/attributes.ts';
import { onBothEngines } from '../support/databases.ts';
import { message } from '../support/messages.ts';
import { startSignet, testSignet } from '../support/signet.ts';

const caller = { actor: 'cli' } as const;
type Fields = { path: string; message: string }[];

onBothEngines('UA-05: a person changes what is theirs to change, and nothing else', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  await newAttribute(signet, 'nickname_at_work', { editable_by: 'person' });
  await newAttribute(signet, 'department');
  await newAttribute(signet, 'salary_band', { is_shown: false });
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const stored = async () =>
    (await admin.browser.get(`/v1/admin/users/${user.user_id}`, { accept: 'application/json' })).json?.attributes;
  const values = { department: 'Sales', salary_band: 'B' };
  await admin.browser.patch(`/v1/admin/users/${user.user_id}`, { attributes: values, reason: 'Hired.' });

  const me = (attributes: unknown, more = {}) => user.browser.patch('/v1/me', { attributes, ...more });
  const changed = await me({ nickname_at_work: ' Ace ' });
  assert.deepEqual(changed.json?.attributes, { nickname_at_work: 'Ace', department: 'Sales' }, changed.text);
  const refusals: [attributes: unknown, path: string, key: Parameters<typeof message>[0] | undefined][] = [
    [{ department: 'Board' }, 'attributes/department', 'problem.attribute.not_yours'],
    [{ department: null }, 'attributes/department', 'problem.attribute.not_yours'],
    [{ salary_band: 'A' }, 'attributes/salary_band', 'problem.attribute.unknown'],
    [{ salary_band: 'B' }, 'attributes/salary_band', 'problem.attribute.unknown'],
    [{ nothing: 'A' }, 'attributes/nothing', 'problem.attribute.unknown'],
    [{ constructor: 'A' }, 'attributes/constructor', 'problem.attribute.unknown'],
    [{ nickname_at_work: 'B', department: 'Board' }, 'attributes/department', 'problem.attribute.not_yours'],
    ['Board', 'attributes', undefined],
    [{ nickname_at_work: { toString: 'x' } }, 'attributes/nickname_at_work', undefined],
  ];
  for (const [attributes, path, key] of refusals) {
    const answer = await me(attributes, { name: 'Someone Else' });
    const [field] = (answer.json?.fields ?? []) as Fields;
    assert.deepEqual([answer.status, field?.path], [400, path], `${JSON.stringify(attributes)}: ${answer.text}`);
    if (key) assert.equal(field?.message, message(key));
  }
  const proto = await user.browser.send('/v1/me', {
    method: 'PATCH',
    headers: { origin: signet.url, 'content-type': 'application/json' },
    body: '{"attributes":{"__proto__":{"polluted":"yes"}}}',
  });
  assert.equal(proto.status, 400, proto.text);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
  // The same value is no change: a program may send back what it has read.
  assert.equal((await me({ department: 'Sales' })).status, 200);
  assert.deepEqual(await stored(), { nickname_at_work: 'Ace', ...values });

  // By the form of the page, with the fields that it has and with those that it has not.
  const page = await user.browser.get('/account');
  const ids = new Map((await signet.deps.attributes.read()).all.map(({ name, attribute_id }) => [name, attribute_id]));
  const idOf = (name: string) => ids.get(name) ?? '';
  assert.match(page.text, new RegExp(`<input id="${idOf('nickname_at_work')}"`));
  assert.match(page.text, /<dt>.*The department.*<\/dt><dd>.*Sales/);
  for (const name of ['department', 'salary_band']) assert.doesNotMatch(page.text, new RegExp(idOf(name)));
  assert.doesNotMatch(page.text, /salary_band/);
  const posted = await user.browser.post('/account', {
    name: 'Ada',
    [idOf('nickname_at_work')]: 'Bee',
    [idOf('department')]: 'Board',
    [idOf('salary_band')]: 'A',
    'attributes[department]': 'Board',
    attributes: '{"department":"Board"}',
  });
  assert.equal(posted.status, 303, posted.text);
  assert.deepEqual(await stored(), { nickname_at_work: 'Bee', ...values });
  const [event] = await signet.auditLog({ target: user.user_id, action: 'user.changed' });
  assert.deepEqual(JSON.parse(event!.after_state!), { fields: ['name', 'nickname_at_work'] });
});

testSignet('UA-06: each type takes what it is and refuses the rest', async ({ signet }) => {
  const user = await signet.signedInUser();
  const own = { editable_by: 'person' } as const;
  await newAttribute(signet, 'line', { ...own, max_length: 5 });
  await newAttribute(signet, 'choice', { ...own, choices: ['red', 'blue'] });
  await newAttribute(signet, 'count', { ...own, value_type: 'integer', minimum: -1, maximum: 9 });
  await newAttribute(signet, 'ratio', { ...own, value_type: 'number', maximum: 1.5 });
  await newAttribute(signet, 'agrees', { ...own, value_type: 'boolean' });
  await newAttribute(signet, 'hired', { ...own, value_type: 'date' });
  await newAttribute(signet, 'teams', { ...own, value_type: 'strings', max_length: 5 });
  const taken: [string, unknown, unknown][] = [
    ['line', ' 😀😀😀😀😀 ', '😀😀😀😀😀'],
    ['line', 'é', 'é'],
    ['line', '<b>', '<b>'],
    ['choice', 'red', 'red'],
    ['count', -1, -1],
    ['count', 0, 0],
    ['ratio', 0.25, 0.25],
    ['agrees', false, false],
    ['hired', '2024-02-29', '2024-02-29'],
    ['teams', ['a', 'b', 'a', ' '], ['a', 'b']],
    ['line', null, undefined],
    ['teams', [], undefined],
  ];
  for (const [name, given, value] of taken) {
    const answer = await user.browser.patch('/v1/me', { attributes: { [name]: given } });
    const { [name]: now } = (answer.json?.attributes ?? {}) as Record<string, unknown>;
    assert.deepEqual([answer.status, now], [200, value], `${name} ${JSON.stringify(given)} ${answer.text}`);
  }
  const refused: [string, unknown][] = [
    ...['123456', 5, true, ['a'], 'a\nb', 'a\u202eb', '\u0000', 'x'.repeat(100_000)].map(
      (one) => ['line', one] as [string, unknown],
    ),
    ...['green', 'Red', 'redx'].map((one) => ['choice', one] as [string, unknown]),
    ...['1', 1.5, 10, -2, 2 ** 53, true].map((one) => ['count', one] as [string, unknown]),
    ...['0.5', 1.51].map((one) => ['ratio', one] as [string, unknown]),
    ...['true', 1].map((one) => ['agrees', one] as [string, unknown]),
    ...['2023-02-29', '2024-2-1', '0000-01-01', 'today', 20240101].map((one) => ['hired', one] as [string, unknown]),
    ...['a', ['123456'], [1], [['a']], Array.from({ length: 51 }, (_, place) => `${place}`)].map(
      (one) => ['teams', one] as [string, unknown],
    ),
  ];
  const before = (await user.browser.get('/v1/me')).json?.attributes;
  for (const [name, given] of refused) {
    const answer = await user.browser.patch('/v1/me', { attributes: { [name]: given } });
    assert.ok([400, 413].includes(answer.status), `${name} ${JSON.stringify(given).slice(0, 50)} ${answer.status}`);
  }
  assert.deepEqual((await user.browser.get('/v1/me')).json?.attributes, before);
});

testSignet('all values of a user together are bounded, and so are the names of one change', async ({ signet }) => {
  const user = await signet.signedInUser();
  for (let place = 0; place < 9; place += 1)
    await newAttribute(signet, `a${place}`, { editable_by: 'person', max_length: 1000 });
  const fill = (many: number) =>
    Object.fromEntries(Array.from({ length: many }, (_, place) => [`a${place}`, 'x'.repeat(1000)]));
  assert.equal((await user.browser.patch('/v1/me', { attributes: fill(7) })).status, 200);
  const full = await user.browser.patch('/v1/me', { attributes: fill(9) });
  assert.equal(full.status, 400);
  assert.equal(
    (full.json!.fields as Fields)[0]?.message,
    message('problem.attribute.too_much', { max: maxBytesOfUser }),
  );
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, place) => [`b${place}`, 'x']));
  const answer = await user.browser.patch('/v1/me', { attributes: many });
  assert.equal(answer.status, 400);
  assert.ok(answer.text.length < 1000);
});

testSignet('a value from before a narrower rule stays until it is changed', async ({ signet }) => {
  const { attribute_id } = await newAttribute(signet, 'department', { editable_by: 'person' });
  const user = await signet.signedInUser();
  await user.browser.patch('/v1/me', { attributes: { department: 'Marketing' } });
  await editAttribute(signet.deps, caller, attribute_id, { choices: ['Sales', 'Service'] });
  const page = await user.browser.get('/account');
  assert.match(page.text, /<option value="Marketing" selected>/);
  const saved = await user.browser.post('/account', { name: 'Ada', [attribute_id]: 'Marketing' });
  assert.equal(saved.status, 303, saved.text);
  const refused = await user.browser.post('/account', { name: 'Ada', [attribute_id]: 'Finance' });
  assert.match(refused.text, /The department: Choose one of the given values/);
  assert.match(refused.text, new RegExp(`<select id="${attribute_id}"[^>]*aria-invalid="true"`));
  assert.deepEqual((await user.browser.get('/v1/me')).json?.attributes, { department: 'Marketing' });
});

testSignet('what two change at the same time is refused to one of them, not lost', async ({ signet }) => {
  for (const name of ['one', 'two']) await newAttribute(signet, name, { editable_by: 'person' });
  const user = await signet.signedInUser();
  const answers = await Promise.all(
    ['one', 'two'].map((name) => user.browser.patch('/v1/me', { attributes: { [name]: 'x' } })),
  );
  const { attributes } = (await user.browser.get('/v1/me')).json as { attributes: Record<string, string> };
  const done = answers.filter(({ status }) => status === 200).length;
  assert.ok(answers.every(({ status }) => status === 200 || status === 409));
  assert.equal(Object.keys(attributes).length, done);
});

testSignet('a number in a form is what was meant, or refused', async ({ signet }) => {
  const own = { editable_by: 'person' } as const;
  const ids = {
    count: (await newAttribute(signet, 'count', { ...own, value_type: 'integer' })).attribute_id,
    ratio: (await newAttribute(signet, 'ratio', { ...own, value_type: 'number' })).attribute_id,
  };
  const user = await signet.signedInUser();
  const post = (name: keyof typeof ids, text: string) =>
    user.browser.post('/account', { name: 'Ada', [ids[name]]: text });
  const stored = async () => (await user.browser.get('/v1/me')).json?.attributes as Record<string, unknown>;
  const taken: [keyof typeof ids, string, number][] = [
    ['count', ' 1000 ', 1000],
    ['count', '-7', -7],
    ['ratio', '0,125', 0.125],
    ['ratio', '12,5', 12.5],
    ['ratio', '1234.567', 1234.567],
    ['ratio', '1E-7', 1e-7],
  ];
  for (const [name, text, value] of taken) {
    assert.equal((await post(name, text)).status, 303, text);
    assert.equal((await stored())[name], value, text);
  }
  // A thousand in one language is one in another.
  const refused: [keyof typeof ids, string][] = [
    ['count', '1,000'],
    ['count', '1.000'],
    ['count', '2,5'],
    ['ratio', '1,000'],
    ['ratio', '1,000,000'],
    ['ratio', '0x10'],
    ['ratio', '1e999'],
    ['ratio', 'Infinity'],
  ];
  const before = await stored();
  for (const [name, text] of refused) {
    const answer = await post(name, text);
    assert.equal(answer.status, 400, text);
    assert.match(answer.text, /such as 1234/);
    assert.deepEqual(await stored(), before, text);
  }
});

testSignet('too much in a field is refused in one sentence, in the language of the reader', async ({ signet }) => {
  const own = { editable_by: 'person' } as const;
  const lines = await newAttribute(signet, 'lines', { ...own, value_type: 'strings', labels: { de: 'Zeilen' } });
  const line = await newAttribute(signet, 'line', { ...own, labels: { de: 'Zeile' } });
  const user = await signet.signedInUser({ role: 'admin' });
  await user.browser.patch('/v1/me', { locale: 'de' });
  const refused: [id: string, text: string, said: string][] = [
    [lines.attribute_id, Array.from({ length: 51 }, (_, place) => `${place}`).join('\r\n'), 'Zeilen: Muss eine Liste'],
    [lines.attribute_id, 'x'.repeat(1001), 'Zeilen: Verwenden Sie höchstens 200'],
    [line.attribute_id, 'x'.repeat(1001), 'Zeile: Verwenden Sie höchstens 200'],
  ];
  for (const page of ['/account', `/admin/users/${user.user_id}/edit`]) {
    for (const [id, text, said] of refused) {
      const answer = await user.browser.post(page, { name: 'Ada', locale: 'de', reason: 'Test.', [id]: text });
      assert.equal(answer.status, 400);
      const problems = /id="problem">(.*?)<\/div>/s.exec(answer.text)?.[1] ?? '';
      assert.equal(problems.split('<li>').length <= 2, true, problems);
      assert.ok(problems.includes(said), `${said}: ${problems}`);
    }
  }
});

testSignet('a number that was given by a program does not stop the form of its person', async ({ signet }) => {
  const own = { editable_by: 'person', value_type: 'number' } as const;
  const [small, large] = [await newAttribute(signet, 'small', own), await newAttribute(signet, 'large', own)];
  const user = await signet.signedInUser();
  const attributes = { small: 1e-7, large: 1e21 };
  assert.equal((await user.browser.patch('/v1/me', { attributes })).status, 200);
  const page = await user.browser.get('/account');
  const drawn = ({ attribute_id }: { attribute_id: string }) =>
    new RegExp(`<input id="${attribute_id}"[^>]* value="([^"]*)"`).exec(page.text)?.[1] ?? '';
  const form = { [small.attribute_id]: drawn(small), [large.attribute_id]: drawn(large) };
  const saved = await user.browser.post('/account', { name: 'Grace', ...form });
  assert.equal(saved.status, 303, saved.text);
  const me = (await user.browser.get('/v1/me')).json;
  assert.deepEqual([me?.name, me?.attributes], ['Grace', attributes]);
});
