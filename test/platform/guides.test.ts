import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Marked } from 'marked';
import { renderPages } from '../../scripts/docs-site/pages.ts';
import { libraries } from '../../src/clients/libraries/catalogue.ts';
import { documentation } from '../../src/platform/assets.ts';
import { readGuides } from '../../src/platform/guides/guides.ts';
import { message } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';

const root = join(import.meta.dirname, '../..');
const sources = Object.values(documentation).flatMap((folder) => globSync(join('src', folder, '*.md'), { cwd: root }));

/** Tags and words, without what is around them: attributes, and the elements that make a page of it. */
function partsOf(markup: string): string[] {
  return markup
    .replaceAll(/<pre><code[^>]*>([\s\S]*?)\n<\/code><\/pre>/g, '<textarea>\n$1</textarea>')
    .replaceAll(/<textarea[^>]*>\n([\s\S]*?)<\/textarea>/g, (_, code) => `<pre>${code.replaceAll('\n', '⏎')}</pre>`)
    .replaceAll(/<button[\s\S]*?<\/button>|<\/?a(?: [^>]*)?>/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<(\/?[a-z0-9]+)[^>]*>/g, '\n<$1>\n')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

test('every guide is served as a whole implementation of Markdown reads it, with the address of this server', async (t) => {
  const signet = await startSignet(t);
  const guides = readGuides(signet.url);
  assert.equal(guides.length, sources.length);
  assert.ok(sources.length >= 41, `${sources.length} guides`);
  const marked = new Marked();
  for (const source of sources) {
    const [, folder = '', name = ''] = /([^/]+)\/([^/]+)\.md$/.exec(source) ?? [];
    const path = `/reference/guides/${folder}${name === 'README' ? '' : `/${name}`}`;
    const { status, text } = await signet.newBrowser().get(path);
    assert.equal(status, 200, path);
    const [, article = ''] = /<article lang="en">([\s\S]*)<\/article>/.exec(text) ?? [];
    const markdown = readFileSync(join(root, source), 'utf8').replaceAll('https://id.example.com', signet.url);
    assert.deepEqual(partsOf(article), partsOf(marked.parse(markdown, { async: false })), path);
  }
});

test('in the guides each link leads to a guide and heading that is there, or out of this server', async (t) => {
  const signet = await startSignet(t);
  const pages = new Map<string, string>();
  for (const { path } of readGuides(signet.url)) pages.set(path, (await signet.newBrowser().get(path)).text);
  let links = 0;
  for (const [path, text] of pages) {
    const [, article = ''] = /<article lang="en">([\s\S]*)<\/article>/.exec(text) ?? [];
    for (const [, href = ''] of article.matchAll(/<a href="([^"]*)"/g)) {
      links += 1;
      if (/^https:\/\//.test(href)) continue;
      const [target = '', anchor] = href.split('#');
      const page = target === '' ? text : pages.get(target);
      assert.ok(page, `${path}: ${href}`);
      if (anchor !== undefined) assert.ok(page.includes(` id="${anchor}"`), `${path}: ${href}`);
    }
  }
  assert.ok(links > 60, `${links} links`);
});

test('a heading has the same anchor here as in the documentation', () => {
  const site = new Map(renderPages().pages.map(({ source, sections }) => [source, sections.map(({ id }) => id)]));
  for (const { folder, path, sections } of readGuides('https://id.example.com')) {
    const name = path.split('/').slice(4)[0] ?? 'README';
    const source = join('src', documentation[folder]!, `${name}.md`);
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
  for (const folder of Object.keys(documentation))
    assert.ok(index.text.includes(`<a href="/reference/${folder}"`), folder);
  assert.match((await browser.get('/developer')).text, /<a href="\/reference"/);
  const client = await signet.registerClient({ owner });
  for (const { id } of libraries) {
    const { text } = await browser.get(`/developer/clients/${client.client_id}?library=${id}`);
    const [, guide = ''] = /<p id="guides">[\s\S]*?<a href="([^"]+)"/.exec(text) ?? [];
    assert.equal(guide, `/reference/guides/relying-parties/${id}`);
    assert.equal((await browser.get(guide)).status, 200);
  }
  assert.match(
    (await browser.get('/developer/register?kind=service&library=jose')).text,
    /<div class="advice"><p>[^<]+<a href="\/reference\/guides\/resource-servers">/,
  );
  for (const path of ['nothing', 'relying-parties/nothing', 'relying-parties/README', 'api/'])
    assert.equal((await browser.get(`/reference/guides/${path}`, { accept: '*/*' })).status, 404, path);
});

test('a search finds guides and endpoints by a task, a parameter or an error', async (t) => {
  const signet = await startSignet(t);
  const search = async (q: string) => {
    const { text } = await signet.newBrowser().get(`/reference/search?${new URLSearchParams({ q })}`);
    const [, main = ''] = text.split('<main');
    return [...main.matchAll(/<li><a href="(\/reference\/[^"]+)">/g)].map(([, href = '']) => href);
  };
  const expected = {
    refresh_token: ['/reference/oidc#post-oauth-token'],
    code_verifier: ['/reference/oidc#post-oauth-token'],
    invalid_grant: ['/reference/oidc#post-oauth-token', '/reference/guides/api/limits#not-an-error-to-repeat'],
    429: ['/reference/guides/api/limits#429-too-many-attempts', '/reference/entitlements#post-v1-entitlements'],
    'rate limit': ['/reference/guides/api/limits'],
    'webhook signature': ['/reference/guides/api/webhooks#the-signature'],
    Authlib: ['/reference/guides/relying-parties/authlib'],
    'generated client': ['/reference/guides/api/generated-clients'],
    'localpart is invalid': ['/reference/guides/relying-parties/other#what-you-see-when-something-is-missing'],
  };
  for (const [q, wanted] of Object.entries(expected)) {
    const found = await search(q);
    for (const href of wanted) assert.ok(found.includes(href), `${q}: ${found}`);
  }
  assert.equal((await search('Authlib'))[0], '/reference/guides/relying-parties/authlib');
  assert.ok((await search('the')).filter((href) => href.startsWith('/reference/guides/')).length <= 20);
  const wordsAt = async (q: string) => (await signet.newBrowser().get(`/reference/search?q=${q}`)).text;
  assert.match(await wordsAt('the'), /id="reference-more">\d+ more/);
  assert.doesNotMatch(await wordsAt('Authlib'), /id="reference-more"/);
  const nothing = await signet.newBrowser().get('/reference/search?q=zebra', { 'accept-language': 'en' });
  assert.ok(nothing.text.includes('zebra') && !nothing.text.includes(`<h2>${message('reference.guides')}</h2>`));
});
