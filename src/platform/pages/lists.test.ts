import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html } from './html.ts';
import { pager, pathWith } from './lists.ts';
import type { View } from './view.ts';

/** As far as a pager needs one. */
const viewAt = (path: string): View =>
  ({
    query: path.split('?')[1] ?? '',
    t: (key: string) => html`${key}`,
    plain: (key: string) => key,
  }) as unknown as View;

function linksAt(path: string, next?: string): Record<string, string> {
  const pathTo = (at: object) => pathWith('/list', { q: 'a b', ...at });
  const markup = `${pager(viewAt(path), { id: 'next', next, label: html`More`, pathTo }) || ''}`;
  return Object.fromEntries(
    [...markup.matchAll(/id="([^"]+)" href="([^"]+)"/g)].map(([, id = '', to = '']) => [
      id,
      to.replaceAll('&amp;', '&'),
    ]),
  );
}

test('from any page of a list one comes back by the pages by which one has come', () => {
  assert.deepEqual(linksAt('/list?q=a+b'), {}, 'one page');
  const forwards: string[] = ['/list?q=a+b'];
  for (const next of ['1-b', '2-c', '3-d']) forwards.push(linksAt(forwards.at(-1)!, next).next!);
  let here = forwards.at(-1)!;
  assert.deepEqual(Object.keys(linksAt(here)), ['page-previous'], 'the last page');
  const backwards = [here];
  for (let to = linksAt(here)['page-previous']; to !== undefined; to = linksAt(here)['page-previous']) {
    backwards.push(to);
    here = to;
  }
  assert.deepEqual(backwards, forwards.toReversed());
});

test('without a trail the way back is the first page, and a trail stays short', () => {
  assert.deepEqual(linksAt('/list?q=a+b&after=9-z'), { 'page-first': '/list?q=a+b' });
  assert.deepEqual(linksAt('/list?q=a+b&after=9-z&trail=%3Cb%3E'), { 'page-first': '/list?q=a+b' });
  let here = '/list?q=a+b';
  for (let page = 1; page <= 40; page += 1) here = linksAt(here, `${page}-${'x'.repeat(100)}`).next!;
  assert.ok(here.length < 1500, `${here.length}`);
  let steps = 0;
  for (let to = linksAt(here)['page-previous']; to !== undefined; to = linksAt(here)['page-previous']) {
    here = to;
    steps += 1;
  }
  assert.ok(steps >= 10, `${steps} pages back`);
  assert.equal(linksAt(here)['page-first'], '/list?q=a+b');
});
