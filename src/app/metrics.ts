import { unsealedBacklog } from '../audit/read-log.ts';
import type { Deps } from '../oauth/deps.ts';
import { listKeys } from '../oauth/signing-keys/signing-keys.ts';
import { version } from '../platform/config.ts';
import { diskOf, storeBytes } from '../platform/db/open.ts';
import { mailBacklog } from '../platform/mail/queue.ts';
import {
  countedByProcess,
  type Family,
  histogram,
  inTextFormat,
  quickSeconds,
  reading,
  sumOf,
} from '../platform/metrics.ts';
import { deliveryKinds } from './deliveries.ts';

/** Reads the text of a scrape. */
export type Scrape = () => Promise<string>;

/** What the processes of this node besides this one have counted. */
export type ReadOthers = () => Promise<readonly (readonly Family[])[]>;

/** The store is read at most this often, however many scrape. */
const freshForMs = 10_000;
/** The size of a PostgreSQL database takes it longer to find out. */
const sizeFreshForMs = 60_000;

const delays = histogram(
  'signet_event_loop_delay_seconds',
  'How much later than asked for a timer of ten a second ran.',
  quickSeconds,
);
const sampleMs = 100;

/** Runs in every process. @returns a function that ends it. */
export function watchEventLoop({ timekeeper }: Pick<Deps, 'timekeeper'>): () => void {
  let expectedAt = timekeeper.monotonic() + sampleMs;
  const timer = setInterval(() => {
    const at = timekeeper.monotonic();
    delays.observe(Math.max(0, at - expectedAt) / 1000);
    expectedAt = at + sampleMs;
  }, sampleMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** What this process alone can say. */
export function ofThisProcess(): Family[] {
  const { user, system } = process.cpuUsage();
  return [
    ...countedByProcess(),
    reading('signet_processes', 'Processes of this node that answered the scrape.', [[1]]),
    reading('process_cpu_seconds_total', 'Processor time, of all processes of this node.', [[(user + system) / 1e6]]),
    reading('process_resident_memory_bytes', 'Memory, of all processes of this node.', [[process.memoryUsage.rss()]]),
  ];
}

/** @returns a scrape of the whole node. A store that does not answer leaves out what it alone knows. */
export function openMetrics(deps: Deps, readOthers: ReadOthers = async () => []): Scrape {
  const { clock } = deps;
  const startedAt = clock() / 1000 - process.uptime();
  const readStore = kept(clock, freshForMs, () => ofTheStore(deps));
  const readSize = kept(clock, sizeFreshForMs, () => ofTheDisk(deps));
  return async () => {
    const [others, store, size] = await Promise.all([readOthers(), readStore(), readSize()]);
    const known = store.length > 0;
    return inTextFormat([
      reading('signet_build_info', 'Always 1; the version is the label.', [[1, version]], 'version'),
      reading('process_start_time_seconds', 'When the first process of this node started, in Unix seconds.', [
        [startedAt],
      ]),
      reading('signet_store_up', 'Whether the database answered when it was last read for metrics.', [[known ? 1 : 0]]),
      reading(
        'signet_clock_settled',
        'Zero for a quarter of an hour after the clock was set, or differed from other nodes.',
        [[deps.timekeeper.isSettled() ? 1 : 0]],
      ),
      reading(
        'signet_audit_log_stopped',
        'One while no event is sealed, because the log was tampered with or lost its end.',
        [[deps.auditLog.isStopped ? 1 : 0]],
      ),
      ...sumOf([ofThisProcess(), ...others]),
      ...store,
      ...size,
    ]);
  };
}

/** Asked for at most once at a time, and kept for a while; nothing after a failure, which is logged elsewhere. */
function kept(clock: Deps['clock'], forMs: number, read: () => Promise<Family[]>): () => Promise<Family[]> {
  let readAt = Number.NEGATIVE_INFINITY;
  let isAsking = false;
  let answer: Promise<Family[]> = Promise.resolve([]);
  return () => {
    if (!isAsking && Math.abs(clock() - readAt) >= forMs) {
      readAt = clock();
      isAsking = true;
      answer = read()
        .catch(() => [])
        .finally(() => {
          isAsking = false;
        });
    }
    return answer;
  };
}

async function ofTheStore({ db, clock }: Deps): Promise<Family[]> {
  const [mails, deliveries, unsealed, keys] = await Promise.all([
    mailBacklog(db),
    Promise.all(deliveryKinds.map(async ({ kind, queue }) => [await queue.backlog(db), kind] as const)),
    unsealedBacklog(db),
    listKeys({ db }),
  ]);
  const oldest = unsealed.oldest === null ? 0 : Math.max(0, clock() / 1000 - unsealed.oldest);
  const active = keys.filter(({ status }) => status === 'active');
  return [
    reading(
      'signet_queue_waiting',
      'What waits to be sent, also for another attempt, of all nodes; 1000 means that or more.',
      [[mails, 'mail'], ...deliveries],
      'queue',
    ),
    reading('signet_audit_events_unsealed', 'Events without a place in the chain; 1000 means that or more.', [
      [unsealed.waiting],
    ]),
    reading('signet_audit_oldest_unsealed_seconds', 'How long the oldest of them has waited.', [[oldest]]),
    reading(
      'signet_signing_key_activated_timestamp_seconds',
      'Since when the active key of each algorithm signs, in Unix seconds.',
      active.map(({ activated_at, created_at, algorithm }) => [activated_at ?? created_at, algorithm] as const),
      'algorithm',
    ),
  ];
}

async function ofTheDisk({ db, config }: Deps): Promise<Family[]> {
  const [{ database, log }, disk] = await Promise.all([storeBytes(db, config), diskOf(config.dataDir)]);
  return [
    reading('signet_store_size_bytes', 'The database.', [[database]]),
    reading('signet_store_log_size_bytes', 'The write-ahead log of SQLite.', [[log]]),
    reading('signet_data_disk_free_bytes', 'What is left of the disk that holds the data folder.', [[disk?.free]]),
    reading('signet_data_disk_size_bytes', 'That disk.', [[disk?.size]]),
  ];
}
