import assert from 'node:assert/strict';
import { type Signet, testWithoutStore } from '../support/signet.ts';

const constructors = ['DateTimeFormat', 'NumberFormat', 'RelativeTimeFormat', 'ListFormat', 'PluralRules'] as const;

/** @returns how many formatters ICU makes meanwhile: each has memory outside the heap until the collector finds it. */
async function madeDuring(work: () => Promise<unknown>): Promise<number> {
  let made = 0;
  const originals = constructors.map((name) => [name, Intl[name]] as const);
  for (const [name, original] of originals) {
    const count = () => (made += 1);
    const counting = new Proxy(original, {
      construct: (...given) => {
        count();
        return Reflect.construct(...given);
      },
      apply: (...given) => {
        count();
        return Reflect.apply(...given);
      },
    });
    Object.assign(Intl, { [name]: counting });
  }
  try {
    await work();
  } finally {
    Object.assign(Intl, Object.fromEntries(originals));
  }
  return made;
}

async function adminWithRows(signet: Signet) {
  const admin = await signet.signedInUser({ role: 'admin', name: 'Root' });
  for (let count = 0; count < 3; count += 1) {
    const user = await signet.newUser();
    await user.signIn();
    signet.clock.advance(90);
  }
  return admin;
}

testWithoutStore('a page that is shown again makes no formatter for its times and numbers', async ({ signet }) => {
  const { browser } = await adminWithRows(signet);
  for (const path of ['/admin', '/admin/users', '/admin/audit', '/account/sessions', '/account/security']) {
    const show = async () => {
      const page = await browser.send(path, { headers: { 'accept-language': 'en-GB' } });
      assert.equal(page.status, 200, path);
      assert.match(page.text, /<time/, path);
    };
    await show();
    assert.equal(await madeDuring(show), 0, path);
  }
});

testWithoutStore(
  'the formatter that was not used for longest is forgotten, for there are regions without end',
  async ({ signet }) => {
    const { browser } = await adminWithRows(signet);
    const show = (region: string) => browser.send('/admin', { headers: { 'accept-language': `en-${region}` } });
    const regions = [...'abcdefghijkl'].flatMap((one) => [...'abcdefghijkl'].map((other) => one + other));
    await show('zz');
    const made = await madeDuring(async () => {
      for (const region of regions) await show(region);
    });
    assert.ok(made >= regions.length, `${made} for ${regions.length} regions`);
    assert.ok((await madeDuring(() => show('zz'))) > 0, 'the oldest was forgotten');
  },
);
