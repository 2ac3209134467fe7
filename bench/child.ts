import { type ChildProcess, fork, type Serializable } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port that was free a moment ago: issuers carry their port, so it must be known before the server starts. Below those
 * that systems hand out by themselves, which any other socket may get meanwhile, and above those that browsers refuse.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_768);
    const probe = createServer().listen(port, '127.0.0.1');
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}

/** A `keepAliveTimeout`: a server waits while the others are measured, however long that takes. */
export const unlimited = 0;

export type Child = {
  pid: number;
  /** Sends a message and returns the answer to it; one at a time. */
  ask: <Reply>(message: Serializable) => Promise<Reply>;
  stop: () => Promise<void>;
};

/** Starts a server of this folder in its own process and waits until it listens. */
export async function startChild(file: string, port: number, ...more: string[]): Promise<Child> {
  const child = fork(new URL(file, import.meta.url), [String(port), ...more], {
    env: { ...process.env, NODE_ENV: 'production' },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const stderr = collect(child);
  const reply = <Reply>(): Promise<Reply> => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const onMessage = (message: unknown) => {
      child.off('exit', onExit);
      resolve(message as Reply);
    };
    const onExit = () => {
      child.off('message', onMessage);
      reject(new Error(`${file} ended: ${stderr()}`));
    };
    child.once('message', onMessage);
    child.once('exit', onExit);
    return promise;
  };
  await reply();
  return {
    pid: child.pid!,
    ask: (message) => {
      const answer = reply();
      child.send(message);
      return answer as Promise<never>;
    },
    stop: () => stop(child),
  };
}

/** The last of what a process wrote to stderr. */
export function collect(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-4000);
  });
  return () => text.trim();
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const forced = setTimeout(() => child.kill('SIGKILL'), 5000);
  await gone;
  clearTimeout(forced);
}
