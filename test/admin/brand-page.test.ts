import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { subjects } from '../../src/admin/brand/preview.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { pngOf } from '../support/pictures.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet, testSignet, testWithoutStore } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const path = '/admin/brand';
type Fields = Record<string, string>;

/** What the form would post as it is drawn. */
function formOf(page: string): Fields {
  const [form = ''] = /<form [^>]*id="brand".*?<\/form>/s.exec(page) ?? [];
  const text = (value: string) =>
    value.replace(
      /&(amp|lt|gt|quot|#39);/g,
      (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name]!,
    );
  const fields: Fields = {};
  for (const [tag] of form.matchAll(/<input [^>]*>/g)) {
    const name = / name="([^"]*)"/.exec(tag)?.[1];
    if (name !== undefined) fields[name] = text(/ value="([^"]*)"/.exec(tag)?.[1] ?? '');
  }
  for (const [, name = '', value = ''] of form.matchAll(/<textarea [^>]*name="([^"]*)"[^>]*>\n?([^<]*)<\/textarea>/g))
    fields[name] = text(value);
  for (const [, name = '', options = ''] of form.matchAll(/<select [^>]*name="([^"]*)"[^>]*>(.*?)<\/select>/gs))
    fields[name] = /value="([^"]*)" selected/.exec(options)?.[1] ?? '';
  return fields;
}

const drawn = async ({ browser }: TestUser, at = path): Promise<Fields> => formOf((await browser.get(at)).text);
const versionsOf = async ({ deps }: Signet) =>
  plain(deps.db).all<{ version: number }>('select version from brand_versions order by version');
const eventsOf = async (signet: Signet) => (await signet.auditLog({ action: 'brand.changed' })).length;
const post = async ({ browser }: TestUser, fields: Fields, at = path) => browser.post(at, fields);

const upload = ({ browser }: TestUser, { url }: Signet, picture: string, file: Buffer) => {
  const body = new FormData();
  body.set('content', new Blob([new Uint8Array(file)]), 'picture.png');
  return browser.send(`${path}/pictures/${picture}`, { method: 'POST', body, headers: { origin: url } });
};

testSignet('the brand is changed in the console, all of it by one form', async ({ signet, t }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const all: Fields = {
    name: 'Acme',
    header: 'logo',
    button: '#ffd400',
    button_dark: '#ffe066',
    link: '#7a5c00',
    link_dark: '#ffd400',
    background: '#003366',
    background_dark: '#001122',
    radius: '3',
    font: 'geometric',
    terms_url: 'https://acme.example/terms',
    terms_since: '2027-03-01',
    privacy_url: 'https://acme.example/privacy',
    help_url: 'https://acme.example/help',
    support: 'help@acme.example',
    words_sign_in_title: 'Welcome',
    words_sign_in: 'Use your staff account.',
    words_mail_footer: 'Acme, 1 High Street',
  };

  await t.test('what is saved is in the form, and people see it', async () => {
    const saved = await post(admin, { ...(await drawn(admin)), ...all });
    assert.deepEqual([saved.status, saved.location], [303, `${path}?done=saved`], saved.text);
    const { text } = await admin.browser.get(saved.location);
    assert.match(text, sentence('admin.brand.done.saved'));
    const now = formOf(text);
    for (const [field, value] of Object.entries(all)) assert.equal(now[field], value, field);
    const seen = (await signet.newBrowser().get('/signin')).text;
    assert.match(seen, /<title>Welcome - Acme<\/title>/);
    assert.match(seen, /Use your staff account\./);
    assert.deepEqual(
      (await versionsOf(signet)).map(({ version }) => version),
      [1],
    );
    const again = await post(admin, { ...(await drawn(admin)), radius: '3' });
    assert.equal(again.location, `${path}?done=unchanged`);
  });

  await t.test('each colour says what text is on it, and how far it can be read', async () => {
    const { text } = await admin.browser.get(path);
    const fact = (field: string) => new RegExp(`data-fact="${field}">([^<]*)<`).exec(text)?.[1] ?? '';
    assert.match(fact('button'), /^#ffd400 with dark text, contrast 13(\.\d)?:1$/);
    assert.match(fact('link'), /^Shown as #[0-9a-f]{6}, contrast \d/);
    assert.match(fact('background'), /^White text/);
  });

  await t.test('a field that is emptied is as the settings have it again', async () => {
    await post(admin, { ...(await drawn(admin)), name: '', words_sign_in_title: '' });
    assert.match(
      (await signet.newBrowser().get('/signin')).text,
      pattern`<title>${sentence('signin.title')} - Signet</title>`,
    );
  });

  const wrong: [
    field: string,
    value: string,
    key: Parameters<typeof sentence>[0],
    values?: Record<string, string | number>,
  ][] = [
    ['name', 'x'.repeat(41), 'problem.brand.name', { max: 40 }],
    ['button', 'yellow', 'problem.brand.colour'],
    ['button_dark', '#12345', 'problem.brand.colour'],
    ['link', 'red;}', 'problem.brand.colour'],
    ['link_dark', 'url(//x)', 'problem.brand.colour'],
    ['background', '#gggggg', 'problem.brand.colour'],
    ['background_dark', 'none', 'problem.brand.colour'],
    ['radius', '17', 'problem.brand.radius', { min: 0, max: 16 }],
    ['radius', '1.5', 'problem.brand.radius', { min: 0, max: 16 }],
    ['radius', '', 'problem.brand.radius', { min: 0, max: 16 }],
    ['terms_url', 'http://acme.example', 'problem.brand.page'],
    ['privacy_url', 'javascript:alert(1)', 'problem.brand.page'],
    ['help_url', 'https://user@acme.example', 'problem.brand.page'],
    ['support', 'nowhere', 'problem.brand.support'],
    ['terms_since', '2027-02-30', 'problem.brand.day'],
    ['words_sign_in', 'x'.repeat(301), 'problem.brand.words', { max: 300 }],
    ['words_sign_up_title', 'x'.repeat(61), 'problem.brand.words', { max: 60 }],
  ];
  await t.test(
    'what is wrong is said at its field, what was typed is still there, and nothing is changed',
    async () => {
      const [before, events] = [await versionsOf(signet), await eventsOf(signet)];
      for (const [field, value, key, values] of wrong) {
        const answer = await post(admin, {
          ...(await drawn(admin)),
          help_url: 'https://acme.example/typed',
          [field]: value,
        });
        assert.equal(answer.status, 400, field);
        assert.match(answer.text, new RegExp(`id="${field}"[^>]*aria-invalid="true"`), field);
        const [, at = ''] = new RegExp(`id="${field}-problem">(.*?)</div>`, 's').exec(answer.text) ?? [];
        assert.match(at, sentence(key, values), field);
        const typed = formOf(answer.text);
        assert.equal(typed[field], value, field);
        if (field !== 'help_url') assert.equal(typed.help_url, 'https://acme.example/typed');
      }
      const font = await post(admin, { ...(await drawn(admin)), font: 'comic' });
      assert.equal(font.status, 400);
      assert.match(font.text, /id="font-problem"/);
      assert.deepEqual([await versionsOf(signet), await eventsOf(signet)], [before, events]);
    },
  );

  await t.test(
    'words of another language are shown with everything that was typed, and are saved with it',
    async () => {
      const typed = { ...(await drawn(admin)), name: 'Typed', words_sign_in: 'In English', words_language: 'de' };
      const german = await post(admin, typed, `${path}/draft`);
      assert.equal(german.status, 200);
      const shown = formOf(german.text);
      assert.deepEqual([shown.words_shown, shown.name, shown.words_sign_in], ['de', 'Typed', '']);
      assert.equal(shown.language, 'de', 'of the preview, too');
      const french = await post(
        admin,
        { ...shown, words_sign_in: 'Auf Deutsch', words_language: 'fr' },
        `${path}/draft`,
      );
      const back = await post(admin, { ...formOf(french.text), words_language: 'de' }, `${path}/draft`);
      assert.equal(formOf(back.text).words_sign_in, 'Auf Deutsch');
      assert.equal((await post(admin, formOf(back.text))).location, `${path}?done=saved`);
      assert.match((await signet.newBrowser().get('/signin?ui_locales=de')).text, />Auf Deutsch</);
      assert.match((await signet.newBrowser().get('/signin?ui_locales=en')).text, />In English</);
      const wrongElsewhere = await post(admin, {
        ...(await drawn(admin)),
        other_words: '{"sign_in":{"de":"a\u202eb"}}',
      });
      assert.equal(wrongElsewhere.status, 400);
      assert.match(wrongElsewhere.text, /id="words_language-problem"/);
      for (const forged of ['{', '[]', '{"nowhere":{}}', '{"sign_in":{"de":7}}'])
        assert.equal((await post(admin, { ...(await drawn(admin)), other_words: forged })).status, 400, forged);
    },
  );

  await t.test('a picture is uploaded, shown on its background, and removed', async () => {
    const answer = await upload(admin, signet, 'logo', pngOf({ width: 400, height: 80 }));
    assert.deepEqual([answer.status, answer.location], [303, `${path}?done=picture`], answer.text);
    const { text } = await admin.browser.get(answer.location);
    assert.match(text, /<rect [^>]*fill="#003366"\/><image href="\/assets\/brand-[0-9a-f]{32}\.png"/);
    const refused = await upload(admin, signet, 'icon', pngOf({ width: 64, height: 32 }));
    assert.equal(refused.status, 400);
    assert.match(refused.text, /id="content-icon"[^>]*aria-invalid="true"/);
    assert.match(refused.text, sentence('problem.brand.square'));
    const none = await upload(admin, signet, 'logo', Buffer.alloc(0));
    assert.match(none.text, sentence('problem.brand.picture.missing'));
    assert.equal((await upload(admin, signet, 'banner', pngOf())).status, 404);
    const removed = await post(admin, {}, `${path}/pictures/logo/remove`);
    assert.equal(removed.location, `${path}?done=picture_removed`);
    assert.doesNotMatch((await admin.browser.get(path)).text, /<image /);
  });
});

testSignet('the preview shows the real pages with what was typed, and keeps nothing of it', async ({ signet, t }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const preview = async (fields: Fields) => post(admin, { ...(await drawn(admin)), ...fields }, `${path}/preview`);
  const tables = ['brand_versions', 'audit_log', 'form_answers', 'kept_forms'];
  const rows = async () =>
    Promise.all(
      tables.map(
        async (table) => (await plain(signet.deps.db).all<{ n: number }>(`select count(*) as n from ${table}`))[0]!.n,
      ),
    );

  await t.test(
    'sign-in, sign-up, consent, an error and a mail, in the scheme and language that are chosen',
    async () => {
      await admin.browser.get(path);
      const before = await rows();
      const look = {
        name: 'Acme',
        button: '#ffd400',
        words_sign_in: 'Use your staff account.',
        words_mail_footer: 'Acme, 1 High Street',
      };
      const signIn = await preview({ ...look, subject: 'sign_in' });
      assert.equal(signIn.status, 200);
      assert.match(signIn.text, pattern`<h1>${sentence('signin.title')}</h1>`);
      assert.match(signIn.text, /Use your staff account\./);
      assert.match(signIn.text, /--button:#ffd400/);
      assert.match(signIn.text, /<bdi>Acme<\/bdi>/);
      const consent = await preview({ ...look, subject: 'consent', language: 'de' });
      assert.match(consent.text, /<html lang="de">/);
      assert.match(consent.text, pattern`${sentence('consent.permissions', {}, 'de')}`);
      const mail = await preview({ ...look, subject: 'mail', scheme: 'dark' });
      assert.match(mail.text, /Acme, 1 High Street/);
      assert.match(mail.text, /content="dark"/);
      const signUp = await preview({ words_sign_up_title: 'Become a member', subject: 'sign_up' });
      assert.match(signUp.text, /<h1>Become a member<\/h1>/);
      assert.match(signUp.text, /id="email"/);
      const links = {
        terms_url: 'https://acme.example/terms',
        terms_since: '2027-03-01',
        support: 'help@acme.example',
      };
      const privacy = { privacy_url: 'https://acme.example/privacy' };
      const account = await preview({ ...links, ...privacy, subject: 'new_account' });
      const [, agreed = ''] = /<p class="hint" id="agreement">(.*?)<\/p>/s.exec(account.text) ?? [];
      assert.match(agreed, /href="https:\/\/acme\.example\/terms"/);
      assert.match(agreed, /href="https:\/\/acme\.example\/privacy"/);
      assert.match(agreed, /<time datetime="2027-03-01/, 'since when');
      assert.doesNotMatch((await preview({ subject: 'new_account' })).text, /id="agreement"/);
      const error = await preview({ ...links, words_error: 'Our desk is open from nine.', subject: 'error' });
      assert.equal(error.status, 200, 'a drawn error is none');
      assert.match(error.text, pattern`<h1>${sentence('error.ours')}</h1>`);
      assert.match(error.text, /Our desk is open from nine\./);
      assert.match(error.text, /id="support">.*mailto:help@acme\.example/);
      assert.doesNotMatch((await preview({ subject: 'error' })).text, /id="support"/);
      const arabic = await preview({ ...look, language: 'ar' });
      assert.match(arabic.text, /<html lang="ar" dir="rtl">/);
      assert.doesNotMatch((await signet.newBrowser().get('/signin')).text, /Acme/);
      assert.deepEqual(await rows(), before);
    },
  );

  await t.test('light and dark can be asked for, whatever the browser prefers', async () => {
    const of = async (scheme: string) => (await preview({ background_dark: '#001122', scheme })).text;
    const [browser, light, dark] = [await of('browser'), await of('light'), await of('dark')];
    assert.match(browser, /@media \(prefers-color-scheme:dark\)\{:root\{--accent/);
    for (const [text, condition] of [
      [light, '(max-width:0)'],
      [dark, '(min-width:0)'],
    ] as const) {
      assert.doesNotMatch(text, /prefers-color-scheme/);
      assert.ok(text.includes(`@media ${condition}{:root{--accent`));
    }
    assert.match(dark, /<meta name="color-scheme" content="dark">/);
  });

  await t.test('its policy lets nothing run, load or leave, and the page around it lets it in', async () => {
    const { headers, text } = await preview({});
    const [, style = ''] = /<style>(.*?)<\/style>/s.exec(text) ?? [];
    const digest = hash('sha256', style, 'base64');
    assert.equal(
      headers.get('content-security-policy'),
      `default-src 'none'; style-src 'sha256-${digest}'; img-src 'self' data:; form-action 'none'; frame-ancestors 'self'; base-uri 'none'; sandbox allow-same-origin`,
    );
    assert.equal(headers.get('x-frame-options'), 'SAMEORIGIN');
    assert.doesNotMatch(text, /<script|<link rel="stylesheet"/);
    assert.match(text, /<body inert>/);
    const mail = await preview({ subject: 'mail' });
    assert.equal(
      mail.headers.get('content-security-policy'),
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'; base-uri 'none'; sandbox allow-same-origin",
    );
    const around = (await admin.browser.get(path)).headers.get('content-security-policy');
    assert.equal(
      around,
      "default-src 'none'; script-src 'self'; connect-src 'self'; frame-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    );
  });

  await t.test('a draft cannot bring markup, styles or addresses into it', async () => {
    const evil = '</style><script>alert(1)</script><img src=//evil.example onerror=alert(1)>';
    for (const subject of subjects) {
      const { text, status } = await preview({
        subject,
        name: '<b>Acme</b>',
        words_sign_in: evil,
        words_sign_up: evil,
        words_consent: evil,
        words_error: evil,
        words_mail_footer: evil,
        words_footer: evil,
      });
      assert.equal(status, 200);
      assert.doesNotMatch(text, /<script|<img src=\/\/|<b>/);
      assert.match(text, /&lt;script&gt;/);
    }
    for (const [field, value] of [
      ['button', 'url(//evil.example)'],
      ['background', 'red}*{x:y'],
      ['help_url', 'javascript:alert(1)'],
    ] as const) {
      const { status, text, headers } = await preview({ [field]: value });
      assert.equal(status, 400, field);
      assert.doesNotMatch(text, /evil\.example|\*\{x|javascript:/);
      assert.match(text, pattern`<h1>${sentence('admin.brand.preview.refused')}</h1>`);
      assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'self'/);
    }
    const { text } = await preview({ radius: '99', button: 'yellow' });
    assert.match(text, sentence('problem.brand.radius', { min: 0, max: 16 }));
    assert.match(text, sentence('problem.brand.colour'));
  });

  await t.test('other sites and other people get none', async () => {
    const foreign = await admin.browser.post(`${path}/preview`, await drawn(admin), { origin: 'https://evil.example' });
    assert.equal(foreign.status, 403);
    const user = await signet.signedInUser();
    assert.equal((await post(user, {}, `${path}/preview`)).status, 403);
    assert.equal((await signet.newBrowser().post(`${path}/preview`)).status, 401);
  });
});

testSignet(
  'versions of the brand are listed and come back, and of two administrators none loses anything',
  async ({ signet, t }) => {
    const [ada, ben] = [
      await signet.signedInUser({ role: 'admin', name: 'Ada' }),
      await signet.signedInUser({ role: 'admin', name: 'Ben' }),
    ];
    await post(ada, { ...(await drawn(ada)), name: 'First' });
    await post(ada, { ...(await drawn(ada)), name: 'Second', button: '#aa0000', words_footer: 'Ours' });

    await t.test('who made which, when, and what it changed', async () => {
      const { text } = await ben.browser.get(`${path}/versions`);
      const [second = '', first = ''] = text.split('<li>').filter((one) => /restore-1|Shown now/.test(one));
      const fields = [message('admin.brand.field.name'), message('admin.brand.field.button')].join(', ');
      for (const seen of [
        message('admin.brand.version', { version: 2 }),
        'Ada',
        '<time',
        fields,
        message('admin.brand.place.footer'),
      ])
        assert.ok(second.includes(seen), `${seen} in ${second}`);
      assert.ok(first.includes(message('admin.brand.restore.what')), first);
    });

    await t.test('one click more goes back, by a version that the log has', async () => {
      const before = await eventsOf(signet);
      const back = await post(ben, { version: '1' }, `${path}/restore`);
      assert.deepEqual([back.status, back.location], [303, `${path}?done=restored`]);
      assert.match((await signet.newBrowser().get('/signin')).text, /- First<\/title>/);
      assert.equal(await eventsOf(signet), before + 1);
      assert.match(
        (await ben.browser.get(`${path}/versions`)).text,
        sentence('admin.brand.version.same_as', { version: '1' }),
      );
      await post(ben, { version: '0' }, `${path}/restore`);
      assert.match((await signet.newBrowser().get('/signin')).text, /- Signet<\/title>/);
      assert.equal((await post(ben, { version: '99' }, `${path}/restore`)).status, 404);
    });

    await t.test('the second of two is told what the first has changed, and both are in the form', async () => {
      const [ofAda, ofBen] = [await drawn(ada), await drawn(ben)];
      await post(ada, { ...ofAda, name: 'By Ada', link: '#123456' });
      const refused = await post(ben, { ...ofBen, button: '#00aa00', name: 'By Ben', words_sign_in: 'Hello' });
      assert.equal(refused.status, 409);
      const fields = `${message('admin.brand.field.name')} and ${message('admin.brand.field.link')}`;
      assert.match(refused.text, sentence('admin.brand.changed_meanwhile', { fields }));
      const merged = formOf(refused.text);
      assert.deepEqual(
        [merged.name, merged.button, merged.link, merged.words_sign_in],
        ['By Ben', '#00aa00', '#123456', 'Hello'],
      );
      assert.match((await signet.newBrowser().get('/signin')).text, /- By Ada<\/title>/, 'nothing of it was saved');
      assert.equal((await post(ben, merged)).location, `${path}?done=saved`);
      const { json } = await ada.browser.get('/v1/admin/brand');
      assert.deepEqual([json?.name, json?.button, json?.link], ['By Ben', '#00aa00', '#123456']);
    });

    await t.test('at the same moment, one of them is saved and the other is told', async () => {
      const [ofAda, ofBen] = [await drawn(ada), await drawn(ben)];
      const answers = await Promise.all([post(ada, { ...ofAda, radius: '1' }), post(ben, { ...ofBen, radius: '2' })]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 409]);
    });
  },
);

testSignet('who may read the brand alone sees it and changes nothing', async ({ signet }) => {
  const role = async (name: string) => {
    const user = await signet.signedInUser();
    await plain(signet.deps.db).all(
      `update users set role = '${name}' where user_id = '${user.user_id}' returning user_id`,
    );
    return user;
  };
  const auditor = await role('auditor');
  const { status, text } = await auditor.browser.get(path);
  assert.equal(status, 200);
  assert.match(text, /<fieldset disabled>/);
  assert.doesNotMatch(text, /id="brand-save"|enctype=|id="brand-words"/);
  assert.equal((await auditor.browser.get(`${path}/preview?subject=consent`)).status, 200);
  assert.doesNotMatch((await auditor.browser.get(`${path}/versions`)).text, /\/restore"/);
  const admin = await signet.signedInUser({ role: 'admin' });
  const { drawn_for: _, ...fields } = await drawn(admin);
  for (const user of [auditor, await role('support'), await role('reviewer'), await signet.signedInUser()]) {
    if (user !== auditor) assert.equal((await user.browser.get(path)).status, 403);
    for (const at of [path, `${path}/draft`, `${path}/preview`, `${path}/restore`, `${path}/pictures/logo/remove`])
      assert.equal((await post(user, { ...fields, name: 'Mine', version: '0' }, at)).status, 403, at);
    assert.equal((await upload(user, signet, 'logo', pngOf())).status, 403);
  }
  assert.deepEqual(await versionsOf(signet), []);
});

test('a long way back: the list of versions is bounded', async (t) => {
  const signet = await startSignet(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  for (let count = 1; count <= 55; count += 1) await admin.browser.patch('/v1/admin/brand', { name: `Name ${count}` });
  const { text } = await admin.browser.get(`${path}/versions`);
  assert.equal(text.match(/id="restore-[1-9]/g)?.length, 49);
  const late = await post(admin, { ...(await drawn(admin)), version: '2', name: 'Late' });
  assert.equal(late.status, 409);
  assert.equal(formOf(late.text).name, 'Late');
});

testWithoutStore('the page and the preview in its frame weigh less than 60 KB with everything', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const page = await admin.browser.get(path);
  const parts = [page.text];
  for (const subject of subjects)
    parts.push((await post(admin, { ...(await drawn(admin)), subject }, `${path}/preview`)).text);
  const files = parts.flatMap((text) =>
    [...text.matchAll(/<(?:link|script|img)\b[^>]*? (?:href|src)="(\/[^"]+)"/g)].map(([, file = '']) => file),
  );
  assert.ok(files.length > 3);
  let shared = brotliCompressSync(page.text).length;
  for (const file of new Set(files)) {
    const answer = await fetch(signet.url + file);
    assert.equal(answer.status, 200, file);
    shared += brotliCompressSync(Buffer.from(await answer.arrayBuffer())).length;
  }
  for (const framed of parts.slice(1)) {
    const bytes = shared + brotliCompressSync(framed).length;
    assert.ok(bytes < 60 * 1024, `${bytes} bytes`);
  }
});
