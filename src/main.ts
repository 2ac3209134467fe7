import cluster, { type Worker } from 'node:cluster';
import { inviteAdministrator } from './admin/invite-administrator.ts';
import type { Config } from './config.ts';
import type { Deps } from './deps.ts';
import { beat } from './heartbeat/heartbeat.ts';
import { keepKeysFresh, type StopJobs, startJobs } from './jobs.ts';
import { closeDeps, openDeps, openLog } from './open-deps.ts';
import { hasAdministrator } from './users/store.ts';

/** After this the process goes even if a connection hangs. */
const drainMs = 10_000;

/**
 * Serves until SIGTERM or SIGINT: config, database, migrate, app, listen. With several workers the first process
 * migrates, makes the keys and runs the jobs; the workers share its port and its store.
 */
export async function serve(config: Config): Promise<void> {
  if (cluster.isWorker) return serveRequests(config);
  const deps = await open(config);
  const stopJobs = startJobs(deps);
  await beat(deps);
  await (config.workers > 1 ? superviseWorkers(deps, stopJobs) : listen(deps, stopJobs));
  await greet(deps);
}

/** At a first start the keys are made on the thread pool while the service is loaded. */
async function open(config: Config): Promise<Deps> {
  const opening = openDeps(config, { clock: Date.now, log: openLog(config.logLevel) });
  await Promise.all([opening, import('./app.ts')]);
  return opening;
}

async function serveRequests(config: Config): Promise<void> {
  const deps = await open(config);
  await listen(deps, keepKeysFresh(deps));
  process.send?.('ready');
}

async function listen(deps: Deps, stopJobs: StopJobs): Promise<void> {
  const { buildApp } = await import('./app.ts');
  const app = await buildApp(deps);
  await app.listen({ host: deps.config.host, port: deps.config.port });
  onStop(async () => {
    deps.log.info('stopping: requests under way are finished first');
    const jobs = stopJobs();
    // A kept-alive connection is busy when the drain begins and idle after its answer; only a sweep sees it then.
    const sweep = setInterval(() => app.server.closeIdleConnections(), 50);
    await app.close();
    clearInterval(sweep);
    await closeDeps(deps, jobs);
  });
}

/** Resolves when every worker listens. One that dies is replaced; the store has kept whatever it acknowledged. */
async function superviseWorkers(deps: Deps, stopJobs: StopJobs): Promise<void> {
  let stage: 'starting' | 'serving' | 'stopping' = 'starting';
  const start = () =>
    new Promise<void>((resolve) => {
      cluster.fork().on('message', (message) => message === 'ready' && resolve());
    });
  cluster.on('exit', (worker, code, signal) => {
    // It has said why on standard error; another one would only say it again. The others go with this process.
    if (stage === 'starting') process.exit(1);
    if (stage === 'stopping') return;
    deps.log.error({ pid: worker.process.pid, code, signal }, 'a worker died; starting another');
    setTimeout(() => stage === 'serving' && void start(), 500);
  });
  await Promise.all(Array.from({ length: deps.config.workers }, start));
  stage = 'serving';
  onStop(async () => {
    stage = 'stopping';
    const jobs = stopJobs();
    await Promise.all(Object.values(cluster.workers ?? {}).map((worker) => worker && drain(worker)));
    await closeDeps(deps, jobs);
  });
}

/** By signal: `cluster.disconnect` would let go of workers that still answer somebody. */
const drain = (worker: Worker) =>
  new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
    worker.process.kill('SIGTERM');
  });

function onStop(stop: () => Promise<void>): void {
  let stopping = false;
  const handle = () => {
    if (stopping) return; // Ctrl-C reaches a worker twice, from the terminal and from its supervisor
    stopping = true;
    setTimeout(() => process.exit(1), drainMs).unref();
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}

/** Tells whoever started it where to go. The link is a secret, so it goes to the terminal and never to the log. */
async function greet(deps: Deps): Promise<void> {
  const { config } = deps;
  if (config.secure && config.trustProxy === false) {
    deps.log.warn(
      'SIGNET_TRUST_PROXY is off although the base URL is https: behind a proxy everybody shares its address, and with it the limits on failures',
    );
  }
  const lines = [
    '',
    `  Signet is ready at ${config.baseUrl}`,
    `  Discovery:  ${config.baseUrl}/.well-known/openid-configuration`,
    `  Storage:    ${config.databaseUrl ? 'PostgreSQL' : `SQLite in ${config.dataDir}`}`,
  ];
  if (!(await hasAdministrator(deps.db))) {
    const { url } = await inviteAdministrator(deps, 'system', 'first_administrator');
    lines.push('', '  There is no administrator yet. This link makes one, once, within a day:', `  ${url}`);
  }
  process.stdout.write(`${lines.join('\n')}\n\n`);
}
