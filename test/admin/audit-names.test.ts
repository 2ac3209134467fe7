import assert from 'node:assert/strict';
import { sentence } from '../support/messages.ts';
import { testSignet } from '../support/signet.ts';

const lists = [
  { path: '/admin/audit', field: 'who' },
  { path: '/admin/audit/unauthenticated', field: 'target' },
];

testSignet('a name that more people have than are listed says so, and how to find the others', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
  for (let place = 0; place < 7; place += 1) await signet.newUser({ name: `Grace Number${place}` });
  const linksTo = (text: string, field: string) => text.match(new RegExp(`[?&;]${field}=usr_`, 'g'))?.length ?? 0;
  for (const { path, field } of lists) {
    const many = await admin.browser.get(`${path}?${field}=Grace`);
    assert.equal(linksTo(many.text, field), 6, path);
    assert.match(many.text, sentence('admin.audit.who.more'), path);
    assert.match(many.text, /href="\/admin\/users\?q=Grace"/, path);
    await signet.newUser({ name: 'Ada Byron' });
    await signet.newUser({ name: 'Ada King' });
    const few = await admin.browser.get(`${path}?${field}=Ada`);
    assert.ok(linksTo(few.text, field) >= 2, path);
    assert.doesNotMatch(few.text, /id="more-candidates"/, path);
  }
});

testSignet('an address that is typed whole means its account, however many names it resembles', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
  for (let place = 0; place < 7; place += 1)
    await signet.newUser({ name: 'Grace', email: `grace${place}@example.com` });
  const { text } = await admin.browser.get('/admin/audit?who=grace3@example.com');
  assert.doesNotMatch(text, /id="more-candidates"/);
  assert.match(text, /id="without-who"/);
});
