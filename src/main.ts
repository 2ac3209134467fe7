import cluster from 'node:cluster';
import { inviteAdministrator } from './admin/invite-administrator.ts';
import { buildApp } from './app.ts';
import type { Config } from './config.ts';
import type { Deps } from './deps.ts';
import { startJobs } from './jobs.ts';
import { openDeps, openLog } from './open-deps.ts';
import { hasAdministrator } from './users/store.ts';

/** After this the process goes even if a connection hangs. */
const drainMs = 10_000;

/**
 * Serves until SIGTERM or SIGINT: config, database, migrate, app, listen. With several workers the first process
 * migrates, makes the keys and runs the jobs; the workers share its port and its store.
 */
export async function serve(config: Config): Promise<void> {
  if (cluster.isWorker) return serveRequests(config);
  const deps = await openDeps(config, { clock: Date.now, log: openLog(config.logLevel) });
  const stopJobs = startJobs(deps);
  await (config.workers > 1 ? superviseWorkers(deps, stopJobs) : listen(deps, stopJobs));
  await greet(deps);
}

async function serveRequests(config: Config): Promise<void> {
  const deps = await openDeps(config, { clock: Date.now, log: openLog(config.logLevel) });
  await listen(deps, () => {});
  process.send?.('ready');
}

async function listen(deps: Deps, stopJobs: () => void): Promise<void> {
  const app = await buildApp(deps);
  await app.listen({ host: deps.config.host, port: deps.config.port });
  onStop(async () => {
    deps.log.info('stopping: requests under way are finished first');
    stopJobs();
    await app.close();
    await deps.db.close();
  });
}

/** Resolves when every worker listens. One that dies is replaced; the store has kept whatever it acknowledged. */
async function superviseWorkers(deps: Deps, stopJobs: () => void): Promise<void> {
  let stopping = false;
  const start = () =>
    new Promise<void>((resolve) => {
      cluster.fork().on('message', (message) => message === 'ready' && resolve());
    });
  cluster.on('exit', (worker, code, signal) => {
    if (stopping) return;
    deps.log.error({ pid: worker.process.pid, code, signal }, 'a worker died; starting another');
    setTimeout(() => stopping || void start(), 500);
  });
  await Promise.all(Array.from({ length: deps.config.workers }, start));
  onStop(async () => {
    stopping = true;
    stopJobs();
    await new Promise<void>((resolve) => cluster.disconnect(resolve));
    await deps.db.close();
  });
}

function onStop(stop: () => Promise<void>): void {
  const handle = () => {
    setTimeout(() => process.exit(1), drainMs).unref();
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGTERM', handle);
  process.once('SIGINT', handle);
}

/** Tells whoever started it where to go. The link is a secret, so it goes to the terminal and never to the log. */
async function greet(deps: Deps): Promise<void> {
  const { config } = deps;
  const lines = [
    '',
    `  Signet is ready at ${config.baseUrl}`,
    `  Discovery:  ${config.baseUrl}/.well-known/openid-configuration`,
    `  Storage:    ${config.databaseUrl ? 'PostgreSQL' : `SQLite in ${config.dataDir}`}`,
  ];
  if (!(await hasAdministrator(deps.db))) {
    const { url } = await inviteAdministrator(deps, 'system');
    lines.push('', '  There is no administrator yet. This link makes one, once, within a day:', `  ${url}`);
  }
  process.stdout.write(`${lines.join('\n')}\n\n`);
}
