import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';
import type { Settings } from '../support/server-process.ts';
import type { Signet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const main = fileURLToPath(new URL('../../examples/relying-party/main.ts', import.meta.url));

export type Example = { url: string; stdout: string; stop(): Promise<unknown> };

/** `npm run example`, to its end if it refuses to start. Its settings are those given and no others. */
export async function runExample(
  t: TestContext,
  env: Settings,
): Promise<{ code: number | null; stdout: string; stderr: string; stop(): Promise<unknown> }> {
  const child = spawn(process.execPath, [main], { env: { PATH: process.env.PATH, ...env } });
  const said = { code: null as number | null, stdout: '', stderr: '' };
  const closed = once(child, 'close').then(([code]) => {
    said.code = code;
  });
  const stop = () => {
    child.kill();
    return closed;
  };
  t.after(stop);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  const ready = new Promise<void>((resolve) =>
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.stdout += text;
      if (said.stdout.includes('ready at')) resolve();
    }),
  );
  await Promise.race([ready, closed]);
  return { ...said, stop };
}

/** A port and a file for the client it registers, apart from those of a developer who runs the example just now. */
export async function exampleSettings(
  t: TestContext,
  issuer: string,
): Promise<Settings & { EXAMPLE_CLIENT_FILE: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'signet-example-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return {
    EXAMPLE_ISSUER: issuer,
    EXAMPLE_PORT: String(await freePort()),
    EXAMPLE_CLIENT_FILE: join(folder, 'client.json'),
  };
}

export async function startExample(t: TestContext, env: Settings): Promise<Example> {
  const { stdout, stderr, stop } = await runExample(t, env);
  assert.match(stdout, /ready at/, stderr);
  return { url: `http://localhost:${env.EXAMPLE_PORT}`, stdout, stop };
}

/** The example as a client of a Signet in this process, asked for consent or not. */
export async function startRegisteredExample(
  t: TestContext,
  signet: Signet,
  owner: TestUser,
  consent: 'skip' | 'required',
): Promise<Example> {
  await owner.signIn();
  const settings = await exampleSettings(t, signet.url);
  const origin = `http://localhost:${settings.EXAMPLE_PORT}`;
  const uris = { redirect_uris: [`${origin}/callback`], post_logout_redirect_uris: [`${origin}/`] };
  const name = 'Field Notes';
  const { client_id, client_secret } = await signet.registerClient({ owner, name, ...uris, consent });
  return startExample(t, {
    ...settings,
    EXAMPLE_CLIENT_ID: client_id,
    EXAMPLE_CLIENT_SECRET: String(client_secret),
  });
}
