import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { createDb } from './db.ts';
import {
  type BatchResult,
  type Committed,
  NotPrimary,
  type Step,
  StoreMisconfigured,
  StoreUnavailable,
} from './engine.ts';
import type { MigratableDb, MigratableEngine, MigrationSession } from './migrate.ts';
import { createCombiner, isCombinable } from './postgres-combiner.ts';
import {
  type BoundStatement,
  type Deadlines,
  durabilitySettings,
  type Lane,
  type LaneUse,
  type Preparation,
  type Session,
} from './postgres-lane.ts';
import { createAbandoned, createLanes, deepestLane, type Lanes } from './postgres-lanes.ts';
import { isStalePlan, lostItsPreparation, needsSessions, storeError, wasRolledBackByRace } from './postgres-results.ts';
import { createServers, refuseStandby, type Servers } from './postgres-servers.ts';
import type { Param } from './sql.ts';

/**
 * A pipelined connection carries any number of requests, but the server runs them one by one and each change waits for
 * its own flush; commits share a flush only across connections. Reads have their own, so that none waits behind a commit
 * that waits for a standby. With the one that looks after abandoned commits that makes 15, and six nodes stay below
 * PostgreSQL's default of 100.
 */
export const laneSizes = { reads: 4, changes: 6, batches: 4 } as const;

/**
 * No user waits longer for a sign-in. The reply gets more time, for the network and the statements before, and leaves some for what
 * else a request does, which is answered within five seconds.
 */
export const defaultDeadlines: Deadlines = { statementMs: 3_500, replyMs: 4_500, connectMs: 3_000 };

/** A deadlock or a stale plan seldom comes twice; after so many something else is wrong. */
const attempts = 4;

/** Any number, as long as every node takes the same: it names the migration among the database's advisory locks. */
const migrationLock = 7_446_381;

export type PostgresOptions = {
  deadlines?: Partial<Deadlines> | undefined;
  /** The operator has said that it may. */
  mayLoseCommits?: boolean | undefined;
  /** It is a node of Citus, which may pass a change on to another one. */
  relays?: boolean | undefined;
};

/**
 * The store on a server that many nodes share. Connects when first used, and again by itself after a loss; meanwhile
 * every call fails at once with {@link StoreUnavailable}.
 * @param url as {@link serversOf} reads it.
 * @throws {StoreMisconfigured} from the first call, and from any later one, when the server may not be used as it is.
 */
export function openPostgres(
  url: string,
  { deadlines: chosen, mayLoseCommits = false, relays }: PostgresOptions = {},
): MigratableDb {
  const deadlines = { ...defaultDeadlines, ...chosen };
  const run_id = randomUUID().slice(-12);
  const servers = createServers(url);
  const abandoned = createAbandoned(servers);
  const check = (session: Session, server: string) => checkSession(server, session, mayLoseCommits);
  const onStandby = () => {
    for (const lanes of [reads, changes, batches]) lanes.retireAll();
  };
  const lanesFor = (use: LaneUse) =>
    createLanes(servers, { use, size: laneSizes[use], abandoned, deadlines, run_id, relays, check, onStandby });
  const [reads, changes, batches] = [lanesFor('reads'), lanesFor('changes'), lanesFor('batches')];

  let asking = 0;
  let whenAnswered: () => void = () => undefined;
  let closing: Promise<void> | undefined;

  /** {@link close} waits for it. */
  async function counted<Reply>(work: () => Promise<Reply>): Promise<Reply> {
    if (closing) throw new StoreUnavailable('The store is closed.');
    asking += 1;
    try {
      return await work();
    } finally {
      asking -= 1;
      if (asking === 0) whenAnswered();
    }
  }

  async function inTime<Reply>(work: (deadline: Deadline) => Promise<Reply>): Promise<Reply> {
    const deadline = startDeadline(deadlines.replyMs);
    try {
      return await work(deadline);
    } finally {
      deadline.clear();
    }
  }

  const readBy = (deadline: Deadline) => (statement: BoundStatement) =>
    retryUnchanged(reads, 'read', (lane, by) => lane.run(statement, by), deadline);
  const changeBy = (deadline: Deadline) => (statement: BoundStatement) =>
    retryUnchanged(changes, 'change', (lane, by) => lane.run(statement, by), deadline);
  const read = (statement: BoundStatement) => inTime((deadline) => readBy(deadline)(statement));
  const combinedReads = createCombiner((work) => inTime((deadline) => work(readBy(deadline))));
  const combinedChanges = createCombiner((work) => inTime((deadline) => work(changeBy(deadline))));

  async function commit(steps: readonly Step[]): Promise<Committed> {
    const [first, ...others] = steps;
    if (others.length === 0 && isCombinable(first!)) return { results: [await combinedChanges.run(first)] };
    return inTime((deadline) =>
      others.length > 0
        ? retryUnchanged(batches, 'change', (lane) => lane.commit(steps), deadline)
        : retryUnchanged(changes, 'change', (lane, by) => lane.commitOne(first!, by), deadline),
    );
  }

  async function close(): Promise<void> {
    if (asking > 0) await new Promise<void>((resolve) => (whenAnswered = resolve));
    await Promise.all([reads, changes, batches].map((lanes) => lanes.close()));
    await abandoned.close();
  }

  return createDb<MigratableEngine>({
    engine: 'postgres',
    run_id,
    room: laneSizes.reads * deepestLane,
    isRunning: (other) => counted(async () => isRunning(await read({ sql: connectionsOf, params: [other, run_id] }))),
    requestArrived: () => undefined, // each read is a transaction of its own
    query: (statement) =>
      counted(async () => (await (isCombinable(statement) ? combinedReads.run(statement) : read(statement))).rows),
    commit: (steps) => counted(() => commit(steps)),
    close: () => {
      closing ??= close();
      return closing;
    },
    exclusively: (work) => exclusively(servers, work),
  });
}

/**
 * By the name that each of our connections bears. A node that is gone has none, and one that lost them all answers no request.
 * Where even the connection that asks has lost its name, to a pooler that does not pass it on, nothing is known of others.
 */
const hasApplicationName = (place: string) => `(application_name = ${place} or application_name like '% ' || ${place})`;
const connectionsOf = `
  select count(case when ${hasApplicationName('$1')} then 1 end) as theirs, count(case when ${hasApplicationName('$2')} then 1 end) as ours
    from pg_stat_activity`;
const isRunning = ({ rows }: BatchResult): boolean => Number(rows[0]?.theirs) > 0 || Number(rows[0]?.ours) === 0;

/**
 * For a connection to open and for all attempts together. A lane has its own deadline for each reply; this one only answers
 * who asked, and leaves the lane in use.
 */
type Deadline = ReturnType<typeof startDeadline>;

function startDeadline(ms: number) {
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => undefined); // it is for those who ask
  const deadline = { isOver: false, over: over.promise, clear: () => clearTimeout(timer) };
  const timer = setTimeout(() => {
    deadline.isOver = true;
    over.reject(noReply());
  }, ms);
  return deadline;
}

const noReply = () => new Error('no reply in time');

/** Asks again where the server promises that nothing happened, and only before the deadline. */
async function retryUnchanged<Reply>(
  lanes: Lanes,
  kind: 'read' | 'change',
  question: (lane: Lane, by: Preparation) => Promise<Reply>,
  deadline: Deadline,
): Promise<Reply> {
  let sent: 'nothing' | typeof kind;
  let role: string | undefined;
  let by: Preparation = 'shared';
  const ask = (lane: Lane) => {
    if (deadline.isOver) throw noReply();
    sent = kind;
    role = lane.role;
    return question(lane, by);
  };
  for (let attempt = 1; ; attempt += 1) {
    sent = 'nothing';
    try {
      return await Promise.race([lanes.use(ask), deadline.over]);
    } catch (error) {
      if (lostItsPreparation(error)) by = 'own';
      const again =
        wasRolledBackByRace(error) || isStalePlan(error) || lostItsPreparation(error) || error instanceof NotPrimary;
      if (!again || attempt === attempts) throw storeError(error, sent, role);
    }
  }
}

/**
 * A connection of its own, without deadlines: a migration takes what it takes. The lock belongs to the transaction, so
 * that a node that dies in the middle leaves neither tables nor lock behind.
 */
async function exclusively<T>(servers: Servers, work: (session: MigrationSession) => Promise<T>): Promise<T> {
  const client = await servers.connectOnce({ connectionTimeoutMillis: 10_000 }).catch((error: unknown) => {
    throw storeError(error, 'session');
  });
  const query = (sql: string, params?: Param[]) =>
    client.query(sql, params).catch((error: unknown) => {
      throw storeError(error, 'nothing', client.user);
    });
  try {
    await query('begin');
    await query('select pg_advisory_xact_lock($1)', [migrationLock]);
    const kept = await work({
      all: async <Row>(sql: string, params: readonly Param[] = []) => (await query(sql, [...params])).rows as Row[],
      exec: async (script) => void (await query(script)),
    });
    await query('commit');
    return kept;
  } finally {
    await client.end(); // an open transaction ends with its connection
  }
}

/** What a second look at the same session may take. A pool with no connection left for it lets it wait. */
const probeMs = 3_000;
/** Transactions that are held open, so that the pool has to give the backend of another session to one of them. */
const probes = 3;

/**
 * Refuses a PostgreSQL that cannot keep what we promise.
 * @param mayLoseCommits the operator has said that it need not.
 * @throws {StoreMisconfigured}
 */
async function checkSession(url: string, session: Session, mayLoseCommits: boolean): Promise<void> {
  refuseStandby(session.is_standby);
  const off = durabilitySettings.filter((name) => session.settings[name] === 'off');
  if (off.length > 0 && !mayLoseCommits) {
    throw new StoreMisconfigured(
      `PostgreSQL may lose changes that it has confirmed: ${off.join(', ')} off for this connection. Turn it on where it was turned off (server, database, role or SIGNET_DATABASE_URL), or set SIGNET_DATABASE_MAY_LOSE_COMMITS=on if such losses are acceptable.`,
    );
  }
  if (session.encoding !== 'UTF8') {
    throw new StoreMisconfigured(
      `The database of SIGNET_DATABASE_URL has the encoding ${session.encoding}, which has not every letter of a name. It has to be UTF8: create database signet owner signet encoding 'UTF8' template template0;`,
    );
  }
  if (!session.keepsSettings) throw new StoreMisconfigured(needsSessions);
  // A pooler announces a number of its own making; one that keeps sessions may stay.
  if (session.announcedPid !== session.backend.pid && !(await keepsSessions(url))) {
    throw new StoreMisconfigured(needsSessions);
  }
}

/** Whether a session has the same backend after others have had every chance to take it. */
async function keepsSessions(url: string): Promise<boolean> {
  const settings = { connectionString: url, connectionTimeoutMillis: probeMs, query_timeout: probeMs, keepAlive: true };
  const clients = Array.from({ length: probes + 1 }, () => new pg.Client(settings));
  for (const client of clients) client.on('error', () => undefined); // the query in flight rejects
  const pidOf = async (client: pg.Client): Promise<number> =>
    (await client.query('select pg_backend_pid() as pid')).rows[0].pid;
  const [first, ...others] = clients;
  try {
    await Promise.all(clients.map((client) => client.connect()));
    const before = await pidOf(first!);
    for (const other of others) {
      await other.query('begin');
      if ((await pidOf(other)) === before) return false;
    }
    return (await pidOf(first!)) === before;
  } catch (error) {
    // Two sessions at once are more than the pool has: the second waits for the first, which is not using its own.
    if (error instanceof Error && error.message === 'Query read timeout') return false;
    throw error;
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}
