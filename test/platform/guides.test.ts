import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { renderPages } from '../../scripts/docs-site/pages.ts';
import { libraries } from '../../src/clients/libraries/catalogue.ts';
import { documentation } from '../../src/platform/assets.ts';
import { guideFile, readGuides } from '../../src/platform/guides/guides.ts';
import { message } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';

const articleOf = (text: string): string => /<article lang="en">([\s\S]*)<\/article>/.exec(text)?.[1] ?? '';
const textOf = (asset: string): string =>
  readFileSync(
    join(import.meta.dirname, '../..', 'src', documentation[posix.dirname(asset)]!, posix.basename(asset)),
    'utf8',
  );

test('every page of the documentation is served, with the address of this server in its examples', async (t) => {
  const signet = await startSignet(t);
  const guides = await readGuides(signet.url);
  assert.ok(guides.length >= 100, `${guides.length} pages`);
  assert.equal(guides[0]!.path, '/docs');
  for (const { path, asset, title } of guides) {
    const { status, text } = await signet.newBrowser().get(path);
    assert.equal(status, 200, path);
    const article = articleOf(text);
    const [, heading = ''] = /<h1 id="[^"]+">([\s\S]*?)<\/h1>/.exec(article) ?? [];
    assert.equal(heading.replaceAll(/<[^>]*>/g, '').replaceAll('&#39;', "'"), title, path);
    assert.ok(!article.includes('id.example.com'), path);
    if (textOf(asset).includes('https://id.example.com')) assert.ok(article.includes(signet.url), path);
  }
  for (const left of [
    '/docs/architecture',
    '/docs/decisions/README',
    '/docs/spec/decisions',
    '/docs/README',
    '/docs/../package.json',
  ])
    assert.equal((await signet.newBrowser().get(left, { accept: '*/*' })).status, 404, left);
});

test('the pictures of the documentation, and the files that it offers, are served with it', async (t) => {
  const signet = await startSignet(t);
  const browser = signet.newBrowser();
  const tour = articleOf((await browser.get('/docs/tour')).text);
  const pictures = [...tour.matchAll(/<img src="([^"]+)" alt="([^"]+)"/g)];
  assert.ok(pictures.length > 20, `${pictures.length} pictures`);
  for (const [, path = ''] of pictures) {
    const { status, headers } = await browser.get(path);
    assert.deepEqual([status, headers.get('content-type')], [200, 'image/png'], path);
  }
  const { headers } = await browser.get('/docs/performance/rates.svg');
  assert.equal(headers.get('content-type'), 'image/svg+xml');
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.match(
    articleOf((await browser.get('/docs/monitoring')).text),
    /<a href="\/docs\/monitoring\/dashboard\.json">/,
  );
  assert.match((await browser.get('/docs/monitoring/dashboard.json')).text, /"title": "Signet"/);
  assert.equal((await browser.get('/docs/screenshots/pages.md')).status, 404);
});

test('in the guides each link leads to a guide and heading that is there, or out of this server', async (t) => {
  const signet = await startSignet(t);
  const pages = new Map<string, string>();
  for (const { path } of await readGuides(signet.url)) pages.set(path, (await signet.newBrowser().get(path)).text);
  let links = 0;
  for (const [path, text] of pages) {
    const [, article = ''] = /<article lang="en">([\s\S]*)<\/article>/.exec(text) ?? [];
    for (const [, href = ''] of article.matchAll(/<a href="([^"]*)"/g)) {
      links += 1;
      if (/^(?:https?|mailto):/.test(href)) continue;
      const [target = '', anchor] = href.split('#');
      const page = target === '' ? text : pages.get(target);
      if (page === undefined) {
        assert.ok(guideFile(target), `${path}: ${href}`);
        continue;
      }
      if (anchor !== undefined) assert.ok(page.includes(` id="${anchor}"`), `${path}: ${href}`);
    }
  }
  assert.ok(links > 60, `${links} links`);
});

test('a heading has the same anchor here as in the documentation', async () => {
  const site = new Map(renderPages().pages.map(({ source, sections }) => [source, sections.map(({ id }) => id)]));
  for (const { asset, sections } of await readGuides('https://id.example.com')) {
    const source = posix.join('src', documentation[posix.dirname(asset)]!, posix.basename(asset));
    assert.deepEqual(
      sections.map(({ id }) => id),
      site.get(source),
      source,
    );
  }
});

test('guides are reached from the reference, from the console, and from a client by its library', async (t) => {
  const signet = await startSignet(t);
  const owner = await signet.signedInUser();
  const { browser } = owner;
  const index = await browser.get('/reference');
  for (const page of ['', '/relying-parties', '/resource-servers', '/api', '/verify'])
    assert.ok(index.text.includes(`<a href="/docs${page}"`), page);
  assert.match((await browser.get('/developer')).text, /<a href="\/reference"/);
  const client = await signet.registerClient({ owner });
  for (const { id } of libraries) {
    const { text } = await browser.get(`/developer/clients/${client.client_id}?library=${id}`);
    const [, guide = ''] = /<p id="guides">[\s\S]*?<a href="([^"]+)"/.exec(text) ?? [];
    assert.equal(guide, `/docs/relying-parties/${id}`);
    assert.equal((await browser.get(guide)).status, 200);
  }
  assert.match(
    (await browser.get('/developer/register?kind=service&library=jose')).text,
    /<div class="advice"><p>[^<]+<a href="\/docs\/resource-servers">/,
  );
  const moved = await browser.get('/reference/guides/api/webhooks?x=1');
  assert.deepEqual([moved.status, moved.location], [301, '/docs/api/webhooks?x=1']);
  for (const path of ['nothing', 'relying-parties/nothing', 'relying-parties/README', 'api/'])
    assert.equal((await browser.get(`/docs/${path}`, { accept: '*/*' })).status, 404, path);
});

test('a search finds guides and endpoints by a task, a parameter or an error', async (t) => {
  const signet = await startSignet(t);
  const search = async (q: string) => {
    const { text } = await signet.newBrowser().get(`/docs/search?${new URLSearchParams({ q })}`);
    const [, main = ''] = text.split('<main');
    return [...main.matchAll(/<li><a href="(\/(?:reference|docs)\/[^"]+)">/g)].map(([, href = '']) => href);
  };
  const expected = {
    refresh_token: ['/reference/oidc#post-oauth-token'],
    code_verifier: ['/reference/oidc#post-oauth-token'],
    invalid_grant: ['/reference/oidc#post-oauth-token', '/docs/api/limits#not-an-error-to-repeat'],
    429: ['/docs/api/limits#429-too-many-attempts', '/reference/entitlements#post-v1-entitlements'],
    'rate limit': ['/docs/api/limits'],
    'webhook signature': ['/docs/api/webhooks#the-signature'],
    Authlib: ['/docs/relying-parties/authlib'],
    'generated client': ['/docs/api/generated-clients'],
    'lost my phone': ['/docs/help-a-user'],
    'localpart is invalid': ['/docs/relying-parties/other#what-you-see-when-something-is-missing'],
  };
  for (const [q, wanted] of Object.entries(expected)) {
    const found = await search(q);
    for (const href of wanted) assert.ok(found.includes(href), `${q}: ${found}`);
  }
  assert.equal((await search('Authlib'))[0], '/docs/relying-parties/authlib');
  assert.ok((await search('the')).filter((href) => href.startsWith('/docs/')).length <= 20);
  const wordsAt = async (q: string) => (await signet.newBrowser().get(`/docs/search?q=${q}`)).text;
  assert.match(await wordsAt('the'), /id="reference-more">\d+ more/);
  assert.doesNotMatch(await wordsAt('Authlib'), /id="reference-more"/);
  const nothing = await signet.newBrowser().get('/docs/search?q=zebra', { 'accept-language': 'en' });
  assert.ok(nothing.text.includes('zebra') && !nothing.text.includes(`<h2>${message('reference.guides')}</h2>`));
});
