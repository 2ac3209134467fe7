import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { CellSettings } from '../../src/platform/db/cell-settings.ts';
import { afterTest } from './after-test.ts';
import { ask, type Browser } from './browser.ts';
import { type Engine, freshStore } from './databases.ts';
import { freePort } from './free-port.ts';
import { cellCount, cellsAt } from './postgres-server.ts';
import { RegisteredClient, redirectedTo, verifier } from './relying-party.ts';
import { scratchFolder } from './scratch.ts';
import { masterKey } from './store-template.ts';

export const signetCommand = fileURLToPath(new URL('../../bin/signet', import.meta.url));

export type Settings = Record<string, string>;
export type Finished = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };
/** `program`: what Node runs instead of a command. `user`: the id of whom it runs as. `hear` gets what is printed on standard error, as it comes. */
type Spawning = {
  env?: Settings;
  cwd?: string;
  command?: string;
  program?: string;
  user?: number;
  hear?: (text: string) => void;
};

/** Only what a test sets, so that the environment of the run has no effect. */
function spawnSignet(args: readonly string[], spawning: Spawning) {
  const { env = {}, cwd = tmpdir(), command = signetCommand, program, user, hear } = spawning;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(program ? process.execPath : command, program ? [program, ...args] : args, {
    cwd,
    ...(user !== undefined && { uid: user, gid: user }),
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
    hear?.(text);
  });
  child.stdin.on('error', () => undefined); // a command that reads nothing may be gone before we have written
  const finished = once(child, 'close').then(([code, signal]): Finished => ({ code, signal, ...said }));
  return { child, said, finished };
}

/** Runs `bin/signet` to its end. */
export async function runProcess(
  args: readonly string[],
  { input = '', onStart, ...spawning }: Spawning & { input?: string; onStart?(pid: number): void } = {},
): Promise<Finished> {
  const { child, finished } = spawnSignet(args, spawning);
  onStart?.(child.pid ?? 0);
  child.stdin.end(input);
  return finished;
}

/** Settings of a server whose store does not exist yet (SQLite) or is empty (PostgreSQL). Removed after the test. */
export async function bareSettings(t: TestContext, engine: Engine = 'sqlite'): Promise<Settings> {
  const folder = await scratchFolder('process');
  // A server that is still alive may write into the folder while it is emptied.
  afterTest(t, () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const settings = { SIGNET_DATA_DIR: join(folder, 'data'), SIGNET_PORT: String(await freePort()) };
  if (engine === 'sqlite') return settings;
  const { url = '' } = await freshStore(t, 'postgres', { empty: true });
  return {
    ...settings,
    SIGNET_DATABASE_URL: url,
    ...cellsSetting(cellCount > 0 ? cellsAt(url) : undefined),
    SIGNET_DATABASE_MAY_LOSE_COMMITS: 'on',
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
  };
}

export function cellsSetting(cells: CellSettings | undefined): Settings {
  if (cells === undefined) return {};
  const others = Object.entries(cells.servers).filter(([name]) => name !== '');
  return {
    SIGNET_CELLS: cells.cells.join(' '),
    ...(others.length > 0 && { SIGNET_CELL_SERVERS: others.map(([name, url]) => `${name}=${url}`).join(' ') }),
  };
}

/** For a process whose clock is ahead of that of the machine by some milliseconds. */
export const withClockAhead = (by: number): Settings => ({
  NODE_OPTIONS: `--import=data:text/javascript,{const%20now=Date.now;Date.now=()=>now()+${by}}`,
});

export type ServerProcess = {
  url: string;
  pid: number;
  env: Settings;
  /** What it has printed so far. */
  said: { stdout: string; stderr: string };
  finished: Promise<Finished>;
  stop(signal?: NodeJS.Signals): Promise<Finished>;
};

/** `bin/signet serve`, ready. Whatever is left of it after the test is killed. */
export async function startServer(t: TestContext, env: Settings, spawning: Spawning = {}): Promise<ServerProcess> {
  const { child, said, finished } = spawnSignet(['serve'], { ...spawning, env });
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return finished;
  };
  afterTest(t, () => stop('SIGKILL'));
  const isReady = () => said.stdout.includes('Signet is ready') && said.stdout.endsWith('\n\n');
  const ready = new Promise<void>((resolve) => child.stdout.on('data', () => isReady() && resolve()));
  await Promise.race([ready, finished]);
  assert.ok(isReady(), `the server did not start: ${said.stderr}`);
  const url = `http://localhost:${env.SIGNET_PORT}`;
  return { url, pid: child.pid ?? 0, env, said, finished, stop };
}

export async function registerByHttp(
  server: { url: string },
  browser: Browser,
  client_type = 'confidential',
): Promise<RegisteredClient> {
  const redirect_uri = 'https://rp.test/cb';
  const { status, text, json } = await browser.postJson('/v1/oauth/clients', {
    name: 'Product',
    client_type,
    redirect_uris: [redirect_uri],
    allowed_scopes: ['openid', 'profile', 'email', 'offline_access'],
  });
  assert.equal(status, 200, text);
  const registration = json as { client_id: string; client_secret: string | null };
  return new RegisteredClient(server, { ...registration, redirect_uri });
}

export async function codeFor(browser: Browser, client: RegisteredClient): Promise<string> {
  const code = redirectedTo(await browser.get(client.authorizePath())).get('code');
  assert.ok(code);
  return code;
}

export type TokenAnswer = { status: number; access_token: string; refresh_token: string };

/** A token or introspection request with the client's secret in the body. Rejects when the server goes away. */
async function send(url: string, client: RegisteredClient, fields: Settings, path = '/oauth/token') {
  const { client_id, client_secret } = client;
  const credentials = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
  const body = new URLSearchParams(fields);
  const { status, text } = await ask(url + path, { method: 'POST', body, headers: { authorization: credentials } });
  return { ...JSON.parse(text), status };
}

export const redeemAt = (url: string, client: RegisteredClient, code: string): Promise<TokenAnswer> =>
  send(url, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.redirect_uri,
    code_verifier: verifier,
  });

export const refreshAt = (url: string, client: RegisteredClient, refresh_token: string): Promise<TokenAnswer> =>
  send(url, client, { grant_type: 'refresh_token', refresh_token });

export async function isActiveAt(url: string, client: RegisteredClient, token: string): Promise<boolean> {
  return (await introspectAt(url, client, token)).active === true;
}

export const introspectAt = (url: string, client: RegisteredClient, token: string) =>
  send(url, client, { token }, '/oauth/introspect');

/** Asked again and again while a test waits, so it starts no process where Linux knows. */
export function workerPids({ pid }: Pick<ServerProcess, 'pid'>): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {} // it is gone, or the system does not say
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const rows = stdout.split('\n').map((row) => row.trim().split(/\s+/).map(Number));
  return rows.filter(([, parent]) => parent === pid).map(([child]) => child ?? 0);
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
