import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { test } from 'node:test';
import { type Signet, startSignet } from '../support/signet.ts';

type Headers = Record<string, string>;
type Refused = { status: number; method?: string; path: string; headers?: Headers; body?: string; page?: boolean };

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const long = 'a'.repeat(1600);

/** Every way in which a request is refused before a route sees it; `page`: it looks like an address for people. */
const refusals: Record<string, Refused> = {
  'broken percent-encoding': { status: 400, path: '/%zz' },
  'broken UTF-8': { status: 400, path: '/%E0%A4%A' },
  'a parameter that cannot be decoded': { status: 400, path: '/admin/users/%zz' },
  'a parameter that is too long': { status: 404, path: `/admin/users/${long}` },
  'a parameter of the API that is too long': { status: 404, path: `/v1/oauth/clients/${long}` },
  'an unknown address': { status: 404, path: '/nothing/here' },
  'an unknown method of an API': { status: 405, method: 'PUT', path: '/oauth/token' },
  'an unknown method of a page': { status: 405, method: 'DELETE', path: '/signin' },
  'a URL that is too long': { status: 414, path: `/v1/me?${'a'.repeat(9000)}` },
  'a NUL in the URL': { status: 400, path: '/signin?a=%00', page: true },
  'a NUL in the URL of an API': { status: 400, path: '/v1/me?a=%00' },
  'JSON that is none': { status: 400, method: 'POST', path: '/v1/oauth/clients', headers: json, body: '{' },
  'unpaired surrogate': { status: 400, method: 'POST', path: '/v1/oauth/clients', headers: json, body: '["\\ud800"]' },
  'a body of another type': {
    status: 400,
    method: 'POST',
    path: '/oauth/token',
    headers: { 'content-type': 'x/y' },
    body: 'x',
  },
  'a form of another type': { status: 400, method: 'POST', path: '/signin', headers: json, body: '{}', page: true },
  'a form that cannot be decoded': {
    status: 400,
    method: 'POST',
    path: '/signin',
    headers: form,
    body: 'a=%zz',
    page: true,
  },
  'a form that is too large': {
    status: 413,
    method: 'POST',
    path: '/signin',
    headers: form,
    body: 'a'.repeat(66_000),
    page: true,
  },
  'JSON that is too large': {
    status: 413,
    method: 'POST',
    path: '/v1/oauth/clients',
    headers: json,
    body: 'a'.repeat(66_000),
  },
  'a form of another site': {
    status: 403,
    method: 'POST',
    path: '/signin',
    headers: { ...form, origin: 'https://evil.test' },
    body: '',
    page: true,
  },
};

const accepts = ['text/html', 'application/json', 'text/html, application/json;q=0.5', '*/*', ';;q=\xff', undefined];
const languages: [string | undefined, string | undefined][] = [
  [undefined, undefined],
  ['de', undefined],
  ['zh-Hant;q=zz,,;\xff', undefined],
  [undefined, 'de'],
  ['en', 'zz'],
  ['x'.repeat(2000), '%zz'],
  ['de', '__proto__'],
];

function send(signet: Signet, { method = 'GET', path, headers = {}, body }: Refused, more: Headers) {
  return new Promise<{ status: number; headers: Headers; text: string }>((resolve, reject) => {
    const length: Headers = body === undefined ? {} : { 'content-length': String(body.length) };
    const options = { method, path, port: signet.deps.config.port, headers: { ...headers, ...length, ...more } };
    httpRequest({ ...options, host: '127.0.0.1' }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers as Headers, text }));
    })
      .on('error', reject)
      .end(body);
  });
}

test('HT-01: whatever is refused before a route sees it is refused in every form and language, and nothing fails', async (t) => {
  const signet = await startSignet(t);
  const { browser } = await signet.signedInUser();
  const session = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
  const cookies = [undefined, session, 'signet_identity_session="\xff; =;; signet_attempt=%zz'];
  for (const [what, refused] of Object.entries(refusals)) {
    for (const accept of accepts) {
      await Promise.all(
        languages.flatMap(([language, chosen]) =>
          cookies.map(async (cookie) => {
            const jar = [cookie, chosen && `signet_language=${chosen}`].filter(Boolean).join('; ');
            const answer = await send(signet, refused, {
              ...(accept === undefined ? {} : { accept }),
              ...(language === undefined ? {} : { 'accept-language': language }),
              ...(jar === '' ? {} : { cookie: jar }),
            });
            const where = `${what}, ${JSON.stringify({ accept, language, jar })}: ${answer.text.slice(0, 300)}`;
            assert.equal(answer.status, refused.status, where);
            assert.equal(answer.headers['cache-control'], 'no-store', where);
            assert.equal(answer.headers['x-content-type-options'], 'nosniff', where);
            if (/^\{/.test(answer.text))
              assert.match(answer.text, /^\{"error":"\w+","error_description":"[ -~]+"/, where);
            else assert.match(answer.text, /^<!doctype html>/, where);
            const wantsHtml = accept?.includes('text/html') === true;
            if (accept === 'application/json') assert.match(answer.text, /^\{/, where);
            if (refused.page && accept !== 'application/json') assert.match(answer.text, /^<!doctype/, where);
            if (!refused.page && !wantsHtml) assert.match(answer.text, /^\{/, where);
            const isGerman = chosen === 'de' || (chosen === undefined && language === 'de');
            if (isGerman && !answer.text.startsWith('{')) assert.match(answer.text, /<html lang="de"[ >]/, where);
            assert.doesNotMatch(answer.text, /%zz|%E0|evil\.test|aaaaaaaaaa/, where);
          }),
        ),
      );
    }
  }
  const failures = signet.logLines.filter((line) => JSON.parse(line).level >= 40);
  assert.deepEqual(failures, []);
});
