import cluster, { type Worker } from 'node:cluster';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { hasAdministrator } from '../accounts/statements.ts';
import { inviteAdministrator } from '../admin/invite-administrator.ts';
import type { Deps } from '../oauth/deps.ts';
import { StoreMisconfigured, StoreUnavailable, storeReason } from '../platform/db/db.ts';
import { endFailedRequest } from '../platform/http/serving.ts';
import { returnIdleMemory } from '../platform/idle-memory.ts';
import { noTracing, type Tracer, type TraceSettings } from '../platform/tracing.ts';
import { loadValidators } from '../platform/validator.ts';
import type { Config } from './config.ts';
import { type StopJobs, startJobs, startWorkerJobs } from './jobs.ts';
import type { Scrape } from './metrics.ts';
import { closeDeps, openDeps, openLog } from './open-deps.ts';
import type { Stage } from './operator-server.ts';

/** After the drain; then the process exits even if a connection hangs. */
const lastMs = 10_000;

/**
 * Serves until SIGTERM or SIGINT. With several workers the first process migrates, makes the keys and runs the jobs; the
 * workers share its port and its store.
 */
export async function serve(config: Config): Promise<void> {
  if (cluster.isWorker) return serveRequests(config);
  const deps = await open(config);
  const stage: Stage = { is: 'starting' };
  const scrape = await openNodeMetrics(deps);
  if (config.operatorPort !== undefined) {
    const { openOperatorServer } = await import('./operator-server.ts');
    await openOperatorServer(deps, stage, scrape); // the end of the process closes it, so that it answers until then
  }
  await unlessUnwritable(deps, () => deps.processes.start());
  const stopJobs = startJobs(deps);
  await (config.workers > 1 ? superviseWorkers : listen)(deps, stopJobs, stage, scrape);
  surviveExceptions(deps.log);
  await printWelcome(deps);
  settleLater(config.workers === 1);
}

/** In the first process of a node. */
async function openNodeMetrics(deps: Deps): Promise<Scrape | undefined> {
  if (!deps.config.hasMetrics) return undefined;
  const [{ openMetrics, watchEventLoop }, { readWorkers, scrapeForWorkers }] = await Promise.all([
    import('./metrics.ts'),
    import('./worker-metrics.ts'),
  ]);
  watchEventLoop(deps);
  if (deps.config.workers === 1) return openMetrics(deps);
  const scrape = openMetrics(deps, readWorkers());
  scrapeForWorkers(scrape);
  return scrape;
}

async function openWorkerMetrics(deps: Deps): Promise<Scrape> {
  const [{ watchEventLoop }, { scrapeOfNode, tellCounts }] = await Promise.all([
    import('./metrics.ts'),
    import('./worker-metrics.ts'),
  ]);
  watchEventLoop(deps);
  tellCounts();
  return scrapeOfNode;
}

async function open(config: Config): Promise<Deps> {
  const log = openLog(config.logLevel);
  const loading = nextTurn().then(() => import('./app.ts')); // once the thread pool generates the first keys
  loading.catch(() => undefined); // it is awaited once there is a store
  for (const signal of stopSignals) process.off(signal, exitImmediately).once(signal, exitImmediately);
  const tracer = config.traces ? await openTraces(config.traces, log) : noTracing;
  const deps = await untilAnswered({ config, log }, () =>
    openDeps(config, {
      clock: Date.now,
      monotonic: () => performance.now(),
      log,
      tracer,
      terminal: process.stderr.isTTY ? process.stderr : undefined,
    }),
  );
  await loading;
  return deps;
}

/**
 * While PostgreSQL is down, still starting or a standby, tries again without limit: the process manager decides when to give up.
 * A node that serves waits also for one that refuses it, since others may need it and the key set needs no store.
 */
async function untilAnswered<T>({ config, log }: Pick<Deps, 'config' | 'log'>, work: () => Promise<T>, serves = false) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof StoreUnavailable && (serves || !(error instanceof StoreMisconfigured));
      if (!config.databaseUrl || !isAway) throw error;
      const again_in_seconds = Math.min(attempt, 5);
      log.warn({ reason: storeReason(error), again_in_seconds }, 'PostgreSQL is not available yet; retrying');
      await sleep(again_in_seconds * 1000);
    }
  }
}

async function openTraces(settings: TraceSettings, log: Deps['log']): Promise<Tracer> {
  const { openTracer } = await import('../platform/open-tracer.ts');
  return openTracer(settings, { log, clock: Date.now });
}

const stopSignals = ['SIGTERM', 'SIGINT'] as const;

/** Until the service runs: the first process of a container has no default signal handlers. */
const exitImmediately = () => process.exit(0);

async function serveRequests(config: Config): Promise<void> {
  const deps = await open(config);
  process.on('message', (message) => message === unsettled && deps.timekeeper.markUnsettled());
  process.send?.(opened);
  const scrape = config.hasMetrics ? await openWorkerMetrics(deps) : undefined;
  const leave = await listen(deps, startWorkerJobs(deps), { is: 'starting' }, scrape);
  process.on('message', (message) => message === retire && leave('retire'));
  surviveExceptions(deps.log, () => process.send?.(replace));
  process.send?.(ready);
  settleLater(true);
}

const loadLaterMs = 200;

/** What a start does not wait for. @param serves false for a supervisor. */
function settleLater(serves: boolean): void {
  if (serves) setTimeout(loadValidators, loadLaterMs).unref();
  returnIdleMemory();
}

/** Messages between a supervisor and its workers. */
const [opened, ready, replace, retire, unsettled] = ['opened', 'ready', 'replace', 'retire', 'unsettled'] as const;
type StopReason = NodeJS.Signals | typeof retire;

/** @returns a function that stops serving and ends the process. */
async function listen(
  deps: Deps,
  stopJobs: StopJobs,
  stage: Stage,
  scrape?: Scrape,
): Promise<(leaving: StopReason) => void> {
  const { buildApp } = await import('./app.ts');
  const app = await buildApp(deps, scrape);
  await unlessUnwritable(deps, () => deps.processes.serve());
  await app.serving.listen(app);
  return onStop(deps, stage, async (leaving) => {
    const jobs = stopJobs();
    await (leaving === retire ? app.serving.retire() : app.serving.stop(drainMs(deps.config, leaving)));
    await app.close();
    await closeDeps(deps, jobs);
  });
}

/** Ctrl-C is pressed at a terminal: there is no load balancer to wait for. */
const drainMs = ({ drainSeconds }: Config, leaving: StopReason) => (leaving === 'SIGINT' ? 0 : drainSeconds * 1000);

/** Resolves when every worker listens. One that requests to be replaced serves meanwhile: no connection is refused. */
async function superviseWorkers(deps: Deps, stopJobs: StopJobs, stage: Stage): Promise<void> {
  let isReplacing = false;
  let listening = 0;
  const running = new Set<Worker>();
  const replaced = new WeakSet<Worker>();
  // Only this process compares its clock with other nodes' and earlier runs'. A worker that trusted a wrong one would end
  // every session that has expired by it.
  const sendUnsettled = (worker: Worker) => {
    if (!deps.timekeeper.isSettled() && worker.isConnected()) worker.send(unsettled);
  };
  setInterval(() => running.forEach(sendUnsettled), 1000).unref();
  /** @returns whether it listens. */
  const start = () =>
    new Promise<boolean>((resolve) => {
      const worker = cluster.fork();
      running.add(worker);
      worker.on('message', (message) => {
        if (message === opened) sendUnsettled(worker); // before it may listen
        if (message !== ready) return;
        listening += 1;
        resolve(true);
      });
      worker.once('exit', () => resolve(false));
    });
  cluster.on('exit', (worker, code, signal) => {
    running.delete(worker);
    // It has logged why, and another one would fail alike, unless it was killed or another one listens already. The others
    // end with this process.
    if (stage.is === 'starting' && signal === null && listening === 0) process.exit(1);
    if (stage.is === 'stopping' || running.size >= deps.config.workers) return;
    deps.log.error({ pid: worker.process.pid, code, signal }, 'a worker died; starting another');
    setTimeout(() => stage.is !== 'stopping' && running.size < deps.config.workers && void start(), 500);
  });
  cluster.on('message', async (worker, message) => {
    // A replaced worker that finishes its last requests may throw again.
    if (message !== replace || stage.is !== 'serving' || isReplacing || replaced.has(worker)) return;
    isReplacing = true; // one at a time, or a repeated request makes all of them restart at once
    if (await start()) {
      replaced.add(worker);
      deps.log.warn({ pid: worker.process.pid }, 'a worker was replaced after an unhandled exception');
      if (worker.isConnected()) worker.send(retire);
    }
    isReplacing = false;
  });
  await Promise.all(Array.from({ length: deps.config.workers }, start));
  onStop(deps, stage, async (leaving) => {
    const jobs = stopJobs();
    await Promise.all([...running].map((worker) => drain(worker, leaving)));
    await closeDeps(deps, jobs);
  });
}

/** By signal: `cluster.disconnect` would drop workers that still answer requests. */
const drain = (worker: Worker, signal: StopReason) =>
  new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
    worker.process.kill(signal as NodeJS.Signals);
  });

/** From now on it serves. @returns a function that stops it as a signal does. */
function onStop(
  { log, config }: Deps,
  stage: Stage,
  stop: (leaving: StopReason) => Promise<void>,
): (leaving: StopReason) => void {
  stage.is = 'serving';
  const handle = (leaving: StopReason) => {
    if (stage.is === 'stopping') return; // Ctrl-C reaches a worker twice, from the terminal and from its supervisor
    stage.is = 'stopping';
    log.info('shutting down: completing requests in progress');
    setTimeout(() => process.exit(1), drainMs(config, leaving) + lastMs).unref();
    stop(leaving).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  for (const signal of stopSignals) process.off(signal, exitImmediately).on(signal, handle);
  return handle;
}

/**
 * An exception outside the promises of a request, from a timer or an event, is logged and ends only its request. Continuing
 * is sound because every decision is one statement of the store, and caches in memory are refreshed within a second.
 * @param ask asks the supervisor, if there is one, to replace this process.
 */
function surviveExceptions(log: Deps['log'], ask?: () => void): void {
  process.on('uncaughtException', (error, origin) => {
    const endedRequest = endFailedRequest();
    try {
      log.error({ err: error, origin, endedRequest }, 'unhandled exception');
    } catch {} // standard error is closed
    ask?.();
  });
}

/**
 * While the disk is full or read-only, the server answers what needs no writing: the key set, introspection, userinfo. What a start
 * would have written, the jobs write later. PostgreSQL is waited for.
 */
async function unlessUnwritable(deps: Deps, write: () => Promise<void>, serves = false): Promise<void> {
  const { config, log } = deps;
  try {
    await untilAnswered(deps, write, serves);
  } catch (error) {
    if (config.databaseUrl || !(error instanceof StoreUnavailable)) throw error;
    log.error({ reason: storeReason(error), folder: config.dataDir }, 'a change that belongs to the start was refused');
  }
}

/** The link is a secret, so it is printed to the terminal and never logged. */
async function printWelcome(deps: Deps): Promise<void> {
  const { config } = deps;
  if (config.serviceLinks.length > 0) {
    deps.log.warn(
      { names: config.serviceLinks },
      'variables of a Kubernetes Service were ignored: they begin like settings; set enableServiceLinks: false in the pod to be without them',
    );
  }
  if (config.secure && config.trustProxy === false) {
    deps.log.warn(
      'SIGNET_TRUST_PROXY is off although the base URL is https: behind a proxy, all clients appear with its address and share the limits on failures',
    );
  }
  const lines = [
    '',
    `  Signet is ready at ${config.baseUrl}`,
    `  Discovery:  ${config.baseUrl}/.well-known/openid-configuration`,
    `  Storage:    ${config.databaseUrl ? 'PostgreSQL' : `SQLite in ${config.dataDir}`}`,
  ];
  const invite = async () => {
    if (await hasAdministrator(deps.db)) return;
    const { url } = await inviteAdministrator(deps, 'system', 'first_administrator');
    lines.push('', '  There is no administrator yet. Use this link once, within a day, to create one:', `  ${url}`);
  };
  await unlessUnwritable(deps, invite, true);
  process.stdout.write(`${lines.join('\n')}\n\n`);
}
