import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** For programs in other languages: whether their tools are there, to build them, to run them. */
export const run = promisify(execFile);
export type Command = readonly [string, ...string[]];

/** What a command that failed has said. */
export function textOf(error: unknown): string {
  const { stderr, stdout, message } = error as { stderr?: string; stdout?: string; message: string };
  return `${stderr ?? ''}${stdout ?? ''}`.trim() || message;
}

const firstLine = (error: unknown): string => (textOf(error).split('\n')[0] ?? '').slice(0, 300);

export const jdk: readonly Command[] = [
  ['java', '-version'],
  ['mvn', '-version'],
];
export const python: readonly Command[] = [['python3', '-m', 'venv', '--help']];

/** @returns why a test cannot run here, or undefined. */
export async function missingTool(tools: readonly Command[]): Promise<string | undefined> {
  for (const [tool, ...args] of tools) {
    try {
      await run(tool, args);
    } catch (error) {
      const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT' || tool === 'test';
      const name = tool === 'test' ? args.at(-1) : tool;
      return `not run: ${name} ${isAbsent ? 'is not installed' : `does not work: ${firstLine(error)}`}`;
    }
  }
  return undefined;
}

/**
 * Installs and builds.
 * @returns why it cannot be done here, or undefined. A mistake of the program must not pass for a missing network.
 */
export async function unavailable(prepare: () => Promise<unknown>): Promise<string | undefined> {
  const isOffline =
    /resolve host|ENOTFOUND|EAI_AGAIN|timed? ?out|unreachable|no such host|Unknown host|refused|403 Forbidden|could not transfer|Could not find a version/i;
  try {
    await prepare();
  } catch (error) {
    if (isOffline.test(textOf(error))) return `not run: what it needs cannot be downloaded: ${firstLine(error)}`;
    throw new Error(`it cannot be built: ${textOf(error)}`);
  }
  return undefined;
}

export const maven =
  (...goals: string[]) =>
  (cwd: string) =>
    run('mvn', ['-q', '-B', ...goals], { cwd, maxBuffer: 2 ** 26 });

export const pip =
  (...requirements: string[]) =>
  async (cwd: string) => {
    await run('python3', ['-m', 'venv', 'venv'], { cwd });
    await run('venv/bin/pip', ['install', '--quiet', ...requirements], { cwd });
  };

export type Served = { said: () => string };

/** Starts a program that serves `url` until the end of the test. */
export async function serve(
  t: TestContext,
  [command, ...args]: Command,
  url: string,
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Served> {
  const child = spawn(command, args, options);
  t.after(async () => {
    child.kill();
    const killed = setTimeout(() => child.kill('SIGKILL'), 5_000);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit'); // its port and files are free only then
    clearTimeout(killed);
  });
  let said = '';
  child.on('error', (error) => (said += error.message));
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  await listening(child, url).catch(() => assert.fail(`it does not serve:\n${said}`));
  return { said: () => said };
}

async function listening(child: ChildProcess, url: string): Promise<void> {
  for (let waits = 0; waits < 600 && child.exitCode === null; waits += 1) {
    if (await fetch(url, { redirect: 'manual' }).then(Boolean, () => false)) return;
    await sleep(200);
  }
  throw new Error('not listening');
}
