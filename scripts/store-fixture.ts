/**
 * `npm run fixture:store -- VERSION`: a store with a bit of everything, made on both engines by a program of that version
 * through its command line and its requests, and written to `test/operations/stores/VERSION`; and the statements of that
 * program, as far as tests of its requests and jobs make them. `test/operations/upgrade.test.ts` starts the newest program on
 * each store, and holds the statements of each against the newest tables. For another checkout of Signet than this one, of
 * which no statements are noted: `--program FOLDER`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type Browser, newBrowser } from '../test/support/browser.ts';
import { freePort } from '../test/support/free-port.ts';
import { asAdmin, databaseUrl } from '../test/support/postgres-admin.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { RegisteredClient, redirectedTo, tokensOf } from '../test/support/relying-party.ts';
import { postEntitlement, writeOf } from '../test/support/services.ts';
import { masterKey } from '../test/support/store-template.ts';
import { problemsOf, type StoreFixture, statementsFile, storesFolder } from '../test/support/stored-versions.ts';
import { totpAt } from '../test/support/two-factor.ts';

type Settings = Record<string, string>;
type Row = Record<string, unknown>;
const password = 'ordinary words in a row';

/** Another version of Signet, by its `bin/signet`. */
class Program {
  readonly #command: string;
  readonly env: Settings;

  constructor(folder: string, env: Settings) {
    this.#command = join(folder, 'bin/signet');
    this.env = env;
  }

  #spawn(args: readonly string[]) {
    const { PATH = '' } = process.env;
    return spawn(this.#command, args, { env: { PATH, ...this.env }, stdio: ['pipe', 'pipe', 'inherit'] });
  }

  /** @returns what a command prints with `--json`, or without. */
  async print(args: readonly string[], input = ''): Promise<string> {
    const child = this.#spawn(args);
    child.stdin.end(input);
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    assert.equal(code, 0, `signet ${args.join(' ')}: ${printed}`);
    return printed;
  }

  run = async (args: readonly string[], input?: string): Promise<Record<string, string>> =>
    JSON.parse(await this.print([...args, '--json'], input));

  /** @returns how to stop it, as an operator does. */
  async serve(): Promise<() => Promise<unknown>> {
    const child = this.#spawn(['serve']);
    let said = '';
    const ready = new Promise<void>((resolve) =>
      child.stdout.setEncoding('utf8').on('data', (more: string) => {
        said += more;
        if (/is ready/.test(said)) resolve();
      }),
    );
    const closed = once(child, 'close');
    await Promise.race([ready, closed]);
    assert.match(said, /is ready/);
    return () => {
      child.kill('SIGTERM');
      return closed;
    };
  }
}

async function signedIn(url: string, email: string): Promise<Browser> {
  const browser = newBrowser(url);
  const { status, text } = await browser.post('/signin', { username: email, password });
  assert.equal(status, 303, text);
  return browser;
}

/** What a version does not have yet, by its list of commands, is left out. */
async function fill(program: Program, url: string): Promise<Omit<StoreFixture, 'version' | 'made_at'>> {
  const commands = await program.print(['--help']);
  const create = (name: string, ...more: string[]) => {
    const account = ['--email', `${name.toLowerCase()}@example.com`, '--name', name, '--verified', ...more];
    return program.run(['users', 'create', ...account, '--password-stdin'], password);
  };
  const [ada, mary] = [await create('Ada'), await create('Mary')];
  await create('Root', '--admin');
  await program.run(['users', 'disable', mary.user_id!]);
  const redirect_uri = 'https://rp.test/cb';
  const scope = 'openid profile email offline_access';
  const registration = ['--name', 'Product', '--redirect-uri', redirect_uri, '--scope', scope, '--approve'];
  const { client_id = '', client_secret = '' } = await program.run(['clients', 'create', ...registration]);
  const client = new RegisteredClient({ url }, { client_id, client_secret, redirect_uri });
  if (/webhooks create/.test(commands)) {
    await program.run([
      'webhooks',
      'create',
      '--url',
      'https://hooks.invalid/signet',
      '--event',
      'entitlement.written',
    ]);
  }

  const browser = await signedIn(url, 'ada@example.com');
  const obtain = async () => {
    const code = redirectedTo(await browser.get(client.authorizePath())).get('code') ?? '';
    return { code, ...tokensOf(await client.redeem(code)) };
  };
  const [first, revoked] = [await obtain(), await obtain()];
  const newest = tokensOf(await client.refresh(first.refresh_token));
  assert.equal((await client.post('/oauth/revoke', { token: revoked.refresh_token })).status, 200);

  let entitlement: Record<string, unknown> | undefined;
  if (/service-credentials create/.test(commands)) {
    const rights = ['--permission', 'entitlements:write', '--product', 'editor'];
    const service = await program.run(['service-credentials', 'create', '--name', 'Billing', ...rights]);
    const [id, secret] = [service.client_id ?? service.credential_id, service.client_secret];
    const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
    for (const version of [1, 2]) {
      entitlement = writeOf(ada.user_id!, { version, plan: version === 1 ? 'basic' : 'pro' });
      const { status, json } = await postEntitlement({ url }, authorization, entitlement);
      assert.equal(status, 200, JSON.stringify(json));
    }
  }

  const enrolled = await browser.postEmpty('/v1/me/2fa/totp/enroll');
  let totp_secret: string | undefined;
  if (enrolled.status === 200) {
    totp_secret = String(enrolled.json?.secret_base32);
    // Not the present step: one that was used is not accepted again, and a sign-in of the test comes later in any case.
    const { status, text } = await browser.postJson('/v1/me/2fa/totp/confirm', {
      code: totpAt(totp_secret, Date.now() / 1000),
    });
    assert.equal(status, 200, text);
  }
  await sleep(2_500); // the audit log is sealed each second
  return {
    user: { user_id: ada.user_id!, email: 'ada@example.com', password, totp_secret },
    disabled: { email: 'mary@example.com', password },
    cookies: Object.fromEntries(browser.cookies),
    client: { client_id, client_secret, redirect_uri },
    tokens: {
      newest: newest.refresh_token,
      replaced: first.refresh_token,
      revoked: revoked.refresh_token,
    },
    entitlement,
  };
}

const literal = (value: unknown): string =>
  value === null ? 'null' : typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`;

const insertsOf = (table: string, rows: readonly Row[]) =>
  rows.map(
    (row) =>
      `insert into ${table} (${Object.keys(row).join(', ')}) values (${Object.values(row).map(literal).join(', ')});`,
  );

/** Tables, indexes and rows, as `sqlite3 .dump` writes them. */
function dumpSqlite(path: string): string[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const schema = db.prepare('select type, name, sql from sqlite_master where sql is not null order by rowid').all();
  const tables = schema.filter(({ type }) => type === 'table').map(({ name }) => String(name));
  const rows = tables.flatMap((table) => insertsOf(table, db.prepare(`select * from ${table}`).all()));
  db.close();
  return [...schema.map(({ sql }) => `${String(sql).replaceAll(/\s+/g, ' ')};`), ...rows];
}

/** The rows. Their tables are those of the migrations that are named among them. */
const dumpPostgres = (url: string): Promise<string[]> =>
  asAdmin(url, async (client) => {
    pg.types.setTypeParser(pg.types.builtins.INT8, Number);
    const { rows } = await client.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by tablename`,
    );
    const lines: string[] = [];
    for (const { name } of rows)
      lines.push(...insertsOf(name, (await client.query<Row>(`select * from ${name}`)).rows));
    return lines;
  });

const own = join(import.meta.dirname, '..');

/** The tests that make a server do all that it can do. */
const exercises = [
  'test/platform/openapi-examples.test.ts',
  'test/{oauth,authentication,self-service}/*.test.ts',
  'test/operations/jobs.test.ts',
];

/** @returns each statement of this program on one line; those of one engine alone with its name before them. */
async function noteStatements(scratch: string, stores: Record<'sqlite' | 'postgres', string>): Promise<string[]> {
  const folder = join(scratch, 'statements');
  const files = globSync(exercises, { cwd: own });
  const NODE_OPTIONS = `--import=${new URL('note-statements.ts', import.meta.url).href}`;
  const env = { ...process.env, NODE_OPTIONS, NOTED_STATEMENTS: folder };
  const child = spawn(process.execPath, ['test/support/test-all.ts', ...files], { cwd: own, env, stdio: 'inherit' });
  const [code] = await once(child, 'close');
  assert.equal(code, 0, 'the tests failed');
  const noted = new Set<string>(
    globSync(join(folder, '*.json')).flatMap((file) => JSON.parse(readFileSync(file, 'utf8'))),
  );
  const lines: string[] = [];
  const statements = [...new Set([...noted].map((text) => text.replaceAll(/\s+/g, ' ').trim()))];
  const sqlite = await problemsOf('sqlite', stores.sqlite, statements);
  const postgres = await problemsOf('postgres', stores.postgres, statements);
  for (const [place, sql] of statements.entries()) {
    if (sqlite[place] && postgres[place]) continue; // a piece of a statement
    lines.push(sqlite[place] ? `/* postgres */ ${sql}` : postgres[place] ? `/* sqlite */ ${sql}` : sql);
  }
  return lines.toSorted();
}

async function make(version: string, folder: string): Promise<void> {
  const target = join(storesFolder, version);
  const scratch = await mkdtemp(join(tmpdir(), 'signet-fixture-'));
  const postgres = await startPostgres();
  try {
    await asAdmin(postgres.url, (client) => client.query('create database fixture'));
    const port = await freePort();
    const issuer = `http://localhost:${port}`;
    const common = {
      SIGNET_PORT: String(port),
      SIGNET_DATA_DIR: scratch,
      SIGNET_MASTER_KEY: masterKey.toString('base64'),
      SIGNET_LOG_LEVEL: 'error',
    };
    const path = join(scratch, 'signet.db');
    const url = databaseUrl(postgres.url, 'fixture');
    const documents = join(folder, 'docs/configuration.md');
    const mayLose =
      existsSync(documents) && readFileSync(documents, 'utf8').includes('SIGNET_DATABASE_MAY_LOSE_COMMITS');
    const engines = {
      sqlite: { env: {}, dump: async () => dumpSqlite(path) },
      postgres: {
        env: { SIGNET_DATABASE_URL: url, ...(mayLose && { SIGNET_DATABASE_MAY_LOSE_COMMITS: 'on' }) },
        dump: () => dumpPostgres(url),
      },
    };
    await mkdir(target, { recursive: true });
    for (const [engine, { env, dump }] of Object.entries(engines)) {
      const program = new Program(folder, { ...common, ...env });
      const stop = await program.serve();
      const filled = await fill(program, issuer).finally(stop);
      const made_at = Math.floor(Date.now() / 1000);
      const fixture: StoreFixture = { version, made_at, ...filled };
      await writeFile(join(target, `${engine}.json`), `${JSON.stringify(fixture, undefined, 2)}\n`);
      await writeFile(join(target, `${engine}.sql`), `${(await dump()).join('\n')}\n`);
    }
    if (folder === own) {
      const lines = await noteStatements(scratch, { sqlite: path, postgres: url });
      await writeFile(join(target, statementsFile), `${lines.join('\n')}\n`);
    }
  } finally {
    await postgres.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

const { values, positionals } = parseArgs({
  options: { program: { type: 'string', default: own } },
  allowPositionals: true,
});
const [version] = positionals;
if (!version || !/^[\w.-]+$/.test(version)) {
  console.error('Usage: npm run fixture:store -- VERSION [--program FOLDER]');
  process.exitCode = 2;
} else await make(version, resolve(values.program));
