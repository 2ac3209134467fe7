import assert from 'node:assert/strict';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import type { OneDb } from '../../src/platform/db/db.ts';
import { type Route, routesOf } from '../support/routes.ts';
import { type Random, seededRandom } from '../support/seeded-random.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

/** FUZZ_REQUESTS=100000 for the long form; docs/security.md says how. */
const requests = Number(process.env.FUZZ_REQUESTS ?? 2000);
const lanes = 16;

type Sent = { bytes: string; path: string; isWhole: boolean };

const long = 'a'.repeat(250);
const parts = [
  'x',
  '%zz',
  '%E0%A4%A',
  '%00',
  '%ff',
  '..',
  '%2e%2e',
  '%2F',
  '__proto__',
  long,
  '%F0%9F%98%80',
  '-1',
  '*',
];
const values = [
  ...parts,
  '',
  'null',
  '0',
  '-1',
  '9007199254740993',
  '1e999',
  '"',
  '<script>',
  'https://evil.test/',
  '//evil.test',
  'openid%20email',
  '%0d%0aX:%20y',
  'a'.repeat(3000),
  '%ED%A0%80',
  'S256',
  'code',
  'none login',
  'usr_x',
  'ses_x',
];
const jsonValues = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  '',
  'x',
  long,
  '\u0000',
  '\ud800',
  '😀',
  [],
  [[]],
  {},
  [null],
  'https://a.test',
];
const accepts = [
  'text/html',
  'application/json',
  '*/*',
  'text/html;q=0.1,application/json',
  ';;;',
  '\xff\xfe',
  'a'.repeat(2000),
];
const languages = ['de', 'en', 'xx', 'de;q=zz,,;', '*', '\xff', 'a-'.repeat(500), 'zh-Hant-TW;q=1.0'];
const rubbishCookies = [
  '',
  'a',
  '=',
  ';;;',
  'signet_language=%zz',
  'signet_language=__proto__',
  'signet_identity_session="',
  'x=\xff',
  'a=b;'.repeat(300),
];
const types = [
  'application/json',
  'application/x-www-form-urlencoded',
  'application/json; charset=x',
  'text/plain',
  'multipart/form-data',
  '\xff',
  '',
];
const credentials = [
  'Basic',
  'Basic eDp5',
  'Basic ====',
  'Bearer',
  'Bearer x',
  'Bearer a.b.c',
  'Bearer eyJhbGciOiJub25lIn0.e30.',
  '\xff',
  'Digest x=y',
];
const oddHeaders = [
  'Expect: 100-continue',
  'Expect: x',
  'Upgrade: websocket\r\nConnection: upgrade',
  'X-Forwarded-For: ,;:]\xff',
  `If-None-Match: ${'"x",'.repeat(100)}`,
  'Range: bytes=0-',
  'Accept-Encoding: br;q=zz,,gzip;q=-1',
  'Sec-Fetch-Site: cross-site',
  'Origin: null',
  'Forwarded: for="[',
  'X-HTTP-Method-Override: DELETE',
  'Transfer-Encoding: gzip, chunked',
  'Content-Encoding: gzip',
  'Trailer: x',
  'Host: evil.test',
];

/** What an attacker could send who knows the names and the shapes. */
class Attacker {
  readonly #random: Random;
  readonly #routes: readonly Route[];
  readonly #names: readonly string[];
  readonly #signet: Signet;
  readonly #users: readonly TestUser[];

  constructor(random: Random, signet: Signet, known: { routes: Route[]; names: string[]; users: TestUser[] }) {
    this.#random = random;
    this.#signet = signet;
    this.#routes = known.routes;
    this.#names = known.names;
    this.#users = known.users;
  }

  request(): Sent {
    const random = this.#random;
    const { path: pattern, methods } = random.pick(this.#routes);
    const method = random.percent(85) ? random.pick(methods) : random.pick([...METHODS, 'FOO', 'get']);
    const path = pattern.replace(/:\w+/g, () => random.pick(parts)) + this.#query();
    const body = ['GET', 'HEAD'].includes(method) && random.percent(90) ? undefined : this.#body();
    const head = [`${method} ${path} HTTP/1.1`, `Host: localhost:${this.#signet.deps.config.port}`, ...this.#headers()];
    let bytes = `${head.join('\r\n')}\r\n`;
    if (body === undefined) bytes += '\r\n';
    else if (random.percent(80)) bytes += `Content-Length: ${body.length}\r\n\r\n${body}`;
    else bytes += `Transfer-Encoding: chunked\r\n\r\n${body && `${body.length.toString(16)}\r\n${body}\r\n`}0\r\n\r\n`;
    if (random.percent(85)) return { bytes, path, isWhole: method !== 'CONNECT' && !bytes.includes('Expect: x') };
    return { bytes: this.#broken(bytes), path, isWhole: false };
  }

  #query(): string {
    const random = this.#random;
    if (random.percent(50)) return '';
    const pairs = Array.from(
      { length: 1 + random.below(6) },
      () => `${random.pick(this.#names)}=${random.pick(values)}`,
    );
    return `?${pairs.join('&')}`;
  }

  #headers(): string[] {
    const random = this.#random;
    const headers = [`Connection: ${random.percent(97) ? 'close' : 'keep-alive, close'}`];
    if (random.percent(80)) headers.push(`Accept: ${random.pick(accepts)}`);
    if (random.percent(50)) headers.push(`Accept-Language: ${random.pick(languages)}`);
    if (random.percent(70))
      headers.push(`Content-Type: ${random.pick(random.percent(80) ? types.slice(0, 2) : types)}`);
    if (random.percent(80)) headers.push(`Origin: ${this.#signet.url}`);
    if (random.percent(25)) headers.push(`Authorization: ${random.pick(credentials)}`);
    if (random.percent(20)) headers.push(random.pick(oddHeaders));
    if (random.percent(20)) headers.push(`Cookie: ${random.pick(rubbishCookies)}`);
    else if (random.percent(80)) {
      const { cookies } = random.pick(this.#users).browser;
      const language = random.percent(30) ? [['signet_language', random.pick(languages)]] : [];
      headers.push(`Cookie: ${[...cookies, ...language].map((pair) => pair.join('=')).join('; ')}`);
    }
    return headers;
  }

  #body(): string {
    const random = this.#random;
    if (random.percent(45)) {
      const pairs = Array.from({ length: random.below(8) }, () => `${random.pick(this.#names)}=${random.pick(values)}`);
      return pairs.join('&');
    }
    if (random.percent(10))
      return random.pick(['', '{', '\xff\xfe', '[]', '7', '"x"', 'null', '{"a":1e999}', '['.repeat(50)]);
    const members = Array.from({ length: random.below(8) }, () => [random.pick(this.#names), this.#json(3)]);
    // One byte for each character, as the socket writes it.
    return Buffer.from(JSON.stringify(Object.fromEntries(members))).toString('latin1');
  }

  #json(depth: number): unknown {
    const random = this.#random;
    if (depth === 0 || random.percent(70)) return random.pick(jsonValues);
    const inner = Array.from({ length: random.below(4) }, () => this.#json(depth - 1));
    return random.percent(50) ? inner : Object.fromEntries(inner.map((value) => [random.pick(this.#names), value]));
  }

  /** A byte more, less or other, here and there. */
  #broken(bytes: string): string {
    const random = this.#random;
    let broken = bytes;
    for (let times = 1 + random.below(4); times > 0; times -= 1) {
      const at = random.below(broken.length);
      const put = random.percent(30)
        ? ''
        : random.pick(['\0', '\r', '\n', ' ', ':', '\xff', '%', 'a', '\t', '\r\n\r\n']);
      broken = broken.slice(0, at) + put + broken.slice(at + random.below(2));
    }
    return broken;
  }
}

/** @returns the first bytes that came back; nothing, if a request that was not whole is waited for by the server. */
function firstAnswer(port: number, { bytes, isWhole }: Sent): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    let text = '';
    const timer = setTimeout(
      () => {
        socket.destroy();
        if (isWhole) reject(new Error('no answer'));
      },
      isWhole ? 120_000 : 200,
    );
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined); // a reset; 'close' follows
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}

test('HT-01: no request, however odd, is answered with a failure of ours or ends the process', async (t) => {
  const random = seededRandom(t);
  const env = {
    SIGNET_RATE_LIMITS: 'off',
    SIGNET_GOOGLE_CLIENT_ID: 'x',
    SIGNET_GOOGLE_CLIENT_SECRET: 'y',
    SIGNET_GOOGLE_ISSUER: 'http://localhost:1', // nothing answers there, which is the documented 502
  };
  const signet = await startSignet(t, { env });
  const { port } = signet.deps.config;
  const routes = await routesOf(signet.app, signet.url);
  assert.ok(routes.length > 100 && routes.every(({ methods }) => methods.length > 0));
  const users = [await signet.signedInUser(), await signet.signedInUser({ role: 'admin' })];
  await signet.registerClient({ owner: users[0] });
  const description = await (await fetch(`${signet.url}/openapi.json`)).text();
  const pages = (await Promise.all(['/signin', '/account', '/signup'].map((path) => users[0]!.browser.get(path)))).map(
    ({ text }) => text,
  );
  const found = [description, ...pages].flatMap((text) => [...text.matchAll(/"([a-z_]{2,30})"(?=:)|name="([^"]+)"/g)]);
  const names = [...new Set(found.map(([, member, field]) => member ?? field!)), '__proto__', 'constructor', ''];
  const attacker = new Attacker(random, signet, { routes, names, users });

  let sent = 0;
  const statuses = new Map<string, number>();
  async function lane() {
    while (sent < requests) {
      sent += 1;
      // Some of the requests sign out, or end the account.
      if (sent % 250 === 0) await Promise.all(users.map((user) => user.signIn()));
      const request = attacker.request();
      const where = () => JSON.stringify(request.bytes.slice(0, 2000));
      const answer = await firstAnswer(port, request).catch((error: Error) =>
        assert.fail(`${error.message}: ${where()}`),
      );
      const status = answer.slice(9, 12);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const isUpstream = status === '502' && request.path.startsWith('/auth/google/');
      assert.ok(status < '500' || isUpstream, `${answer.slice(0, 1000)}: ${where()}`);
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  t.diagnostic([...statuses].sort().join(' '));
  assert.equal((await fetch(`${signet.url}/livez`)).status, 200);
  assert.deepEqual(
    signet.logLines.filter((line) => line.includes('"code":"server_error"')),
    [],
  );
});

testSignet(
  'a request whose sender has gone meanwhile is carried out, and counted with its address',
  async ({ signet }) => {
    const { browser } = await signet.signedInUser();
    const { db, config } = signet.deps;
    const accepted = once(signet.app.server, 'connection') as Promise<[Socket]>;
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    let isCounted = false;
    const real = db.parts.map(({ query, commit }) => ({ query, commit }));
    for (const part of db.parts) {
      const { query, commit } = part;
      const watched: Pick<OneDb, 'query' | 'commit'> = {
        async query(statement) {
          reached.resolve();
          await gate.promise;
          return query(statement);
        },
        async commit(steps) {
          const committed = await commit(steps);
          isCounted ||= steps.some(({ sql }) => sql.includes('failure_counters'));
          return committed;
        },
      };
      Object.assign(part, watched);
    }
    const socket = connect(config.port, '127.0.0.1');
    const cookies = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    socket.write(
      `POST /signin/confirm/passkey/options HTTP/1.1\r\nhost: localhost:${config.port}\r\norigin: ${signet.url}\r\ncookie: ${cookies}\r\ncontent-length: 0\r\n\r\n`,
    );
    const [connection] = await accepted;
    await reached.promise;
    const ended = once(connection, 'close');
    socket.destroy();
    await ended;
    gate.resolve();
    const failures = () => signet.logLines.filter((line) => line.includes('"code":"server_error"'));
    await until('it is counted, or has failed', () => isCounted || failures().length > 0);
    assert.deepEqual(failures(), []);
    for (const [place, part] of db.parts.entries()) Object.assign(part, real[place]);
  },
);
