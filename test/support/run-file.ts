import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestEvent } from 'node:test/reporters';
import { readEvent, type ToldEvent } from './event-lines.ts';
import { silenceMs, watchForSilence } from './watch-for-silence.ts';

export type FileRun = {
  passed: number;
  /** The names of the tests that failed, without those within them. */
  failed: readonly string[];
  /** Of the first that failed. */
  why?: string;
  /** What was under way when it had said nothing for so long that it was ended. */
  hung?: string;
};

type Circumstances = {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** The beginnings of the names of those tests that are run; else all are. */
  names?: readonly string[];
  /** Of silence, after which it is ended. */
  patienceMs?: number;
  /** What the tests and their servers say on standard error. */
  stderr?: 'inherit' | 'ignore';
};

/**
 * One test file in a process of its own. What it has started is ended with it when it hangs, or when this process is told to stop:
 * it is a group of processes.
 */
export async function runFile(file: string, circumstances: Circumstances = {}): Promise<FileRun> {
  const { env = process.env, cwd, names = [], patienceMs = silenceMs, stderr = 'inherit' } = circumstances;
  const { NODE_TEST_CONTEXT: _, ...own } = env; // it would replace the reporter where a test starts this
  const loaded = ['--import', import.meta.resolve('./untracked-promises.ts')];
  const reporter = `--test-reporter=${import.meta.resolve('./event-lines.ts')}`;
  const chosen = names.map((name) => `--test-name-pattern=/^${RegExp.escape(name)}/`);
  const child = spawn(process.execPath, [...loaded, reporter, ...chosen, file], {
    cwd,
    env: own,
    stdio: ['ignore', 'pipe', stderr],
    detached: true,
  });
  const end = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {} // it has ended
  };
  const stop = () => {
    end();
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  try {
    const closed = once(child, 'close');
    const run: FileRun & { failed: string[] } = { passed: 0, failed: [] };
    const abort = new AbortController();
    abort.signal.addEventListener('abort', () => {
      run.hung = String(abort.signal.reason) || 'no test has begun';
      end();
    });
    for await (const { type, data } of watchForSilence(eventsOf(child.stdout!), abort, patienceMs)) {
      if (type === 'test:pass') run.passed += 1;
      if (type !== 'test:fail') continue;
      run.why ??= (data as ToldEvent['data']).why;
      if (data.nesting === 0) run.failed.push(data.name);
    }
    const [code] = await closed;
    if (run.hung === undefined && code !== 0 && run.failed.length === 0) run.failed.push('the process');
    return run;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
    end(); // servers that a test has left
  }
}

async function* eventsOf(output: NodeJS.ReadableStream): AsyncGenerator<TestEvent> {
  for await (const line of createInterface({ input: output })) {
    const event = readEvent(line);
    if (event) yield event as unknown as TestEvent;
  }
}
