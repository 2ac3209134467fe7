import { hash } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import {
  type BatchResult,
  type Committed,
  isRefused,
  OutcomeUnknown,
  type Step,
  StoreUnavailable,
  storable,
} from './engine.ts';
import { columnTypes, isRefusal, relayedError, settledError } from './postgres-results.ts';
import type { Param, Statement } from './sql.ts';

export type Deadlines = {
  /** The server gives up on a statement after this many milliseconds. */
  readonly statementMs: number;
  /** We give up on a reply. Above the server's, which says why; ours is for a server or a network that says nothing. */
  readonly replyMs: number;
  /** We give up on a new connection: on its handshake, and on the first answer after it. */
  readonly connectMs: number;
};

/** Statements that overlap for a moment need no other lane. One that waits for a lock, or a disk, holds back all behind it. */
export const busyAfterMs = 50;

export type LaneUse = 'reads' | 'changes' | 'batches';

export type LaneOptions = {
  readonly use: LaneUse;
  readonly deadlines: Deadlines;
  readonly run_id: string;
  /** The server may pass a statement on to another one: see {@link relayedError}. */
  readonly relays?: boolean | undefined;
  /** Refuses a server, or what stands in front of it, that cannot be relied on. Called once for each connection. */
  check(session: Session, url: string): Promise<void>;
};

/** What a new connection says of itself. */
export type Session = {
  readonly backend: Backend;
  /** Of the process that the server announced at the start. */
  readonly announcedPid: number | null;
  /** Whether it has the settings that we asked for. */
  readonly keepsSettings: boolean;
  /** Whether it is in recovery: 1 or 0. */
  readonly is_standby: number;
  /** Of the database. */
  readonly encoding: string;
  readonly settings: Readonly<Record<DurabilitySetting, string>>;
};
export const durabilitySettings = ['synchronous_commit', 'fsync', 'full_page_writes'] as const;
type DurabilitySetting = (typeof durabilitySettings)[number];

/** A process of the server. Its number alone may be another's later. */
export type Backend = { pid: number; started_at: number };

export type Lane = Awaited<ReturnType<typeof openLane>>;

type LaneEvents = {
  /** The connection is gone. @param unanswered statements were on the wire, so its backend may still be at work. */
  onEnd(lane: Lane, unanswered: boolean): void;
  /** A reply missed its deadline. Everything in flight has been refused; the connection is kept, for its backend may wait. */
  onStall(lane: Lane): void;
  /** All replies of a lane that had stalled are in. */
  onSettled(lane: Lane): void;
};

/**
 * Opens a lane: one pipelined connection, with many statements on the wire that the server runs one after the other.
 * A lane for batches refuses any change outside of `begin read write … commit`. That is a setting of its connection, and
 * not `set`, which a pooler would hand on with the backend.
 * @throws the driver's error; what `check` throws.
 */
export async function openLane(url: string, options: LaneOptions, events: LaneEvents) {
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: ownSession(url, options),
    stream: () => socket,
    pipeline: true,
    types: columnTypes,
    keepAlive: true,
    connectionTimeoutMillis: options.deadlines.connectMs,
    statement_timeout: options.deadlines.statementMs,
    // We write `commit` together with `begin`; a transaction that stays open has lost its client, and holds row locks.
    idle_in_transaction_session_timeout: options.deadlines.statementMs,
  });
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    events.onEnd(lane, lane.inFlight > 0);
  };
  // Without a listener a lost connection would end the process. What was in flight is rejected.
  client.on('error', end);
  client.on('end', end);

  /** Set when replies of this connection can no longer be believed. */
  let unconfirmed: OutcomeUnknown | undefined;
  let corked = false;

  /**
   * Statements of one event-loop turn leave in one write. Otherwise each is a system call, a quarter of what a read
   * costs us, and on a network a packet.
   */
  function gatherWrites(): void {
    if (corked) return;
    corked = true;
    socket.cork();
    setImmediate(() => {
      corked = false;
      socket.uncork();
    });
  }

  /** Of the statements on the wire: each refuses its caller. */
  const waiting = new Set<(error: unknown) => void>();
  let stalled = false;
  let becomingBusy: NodeJS.Timeout | undefined;

  function stall(): void {
    const late = new Error('no reply in time');
    for (const refuse of waiting) refuse(late);
    waiting.clear();
    if (stalled || ended) return;
    stalled = true;
    events.onStall(lane);
  }

  function send(query: pg.QueryConfig): Promise<pg.QueryResult> {
    gatherWrites();
    if (lane.inFlight === 0) becomingBusy = setTimeout(() => (lane.isBusy = true), busyAfterMs);
    lane.inFlight += 1;
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(stall, options.deadlines.replyMs);
      waiting.add(reject);
      const answered = () => {
        clearTimeout(deadline);
        waiting.delete(reject);
        lane.inFlight -= 1;
        if (lane.inFlight > 0) return;
        clearTimeout(becomingBusy);
        lane.isBusy = false;
        if (stalled) events.onSettled(lane);
      };
      client.query(query).then(
        (result) => {
          if (unconfirmed) reject(unconfirmed);
          else resolve(result);
          answered();
        },
        (error: unknown) => {
          reject(unconfirmed ?? error);
          answered();
        },
      );
    });
  }

  /** For a statement that is a transaction of its own, or ends one. */
  const sendLast: Send =
    options.relays && options.use !== 'reads'
      ? (query) =>
          send(query).catch((error: unknown) => {
            throw relayedError(error);
          })
      : send;

  const lane = {
    /** Statements on the wire, unanswered. */
    inFlight: 0,
    /** It has not been idle for a while. */
    isBusy: false,
    /** One statement in one round trip, its own transaction. */
    run: async (statement: BoundStatement, by: Preparation = 'shared'): Promise<BatchResult> =>
      toResult(await sendLast(prepared(statement, by))),
    /** A step by itself: a statement that is its own transaction. */
    commitOne: (step: Step, by: Preparation = 'shared'): Promise<Committed> => sendOne(sendLast, step, by),
    /** `begin`, the steps and `commit` in one round trip. */
    commit: (steps: readonly Step[]): Promise<Committed> => sendTransaction(send, sendLast, steps),
    /** Says goodbye after the last reply. */
    end: (): Promise<void> => client.end(),
    /** Drops the connection without a word. */
    destroy: () => void socket.destroy(),
    backend: { pid: 0, started_at: 0 } as Backend,
    /** As whom it works. */
    role: '',
  };

  try {
    await client.connect();
    const first = { text: sessionQuery, query_timeout: options.deadlines.connectMs };
    const { pid, started_at, role, is_standby, encoding, read_only, seqscan, ...settings } = (await client.query(first))
      .rows[0];
    Object.assign(lane.backend, { pid, started_at });
    lane.role = role;
    const announcedPid = (client as pg.Client & { processID: number | null }).processID;
    const keepsSettings =
      seqscan === plannerSettings.enable_seqscan && (options.use !== 'batches' || read_only === 'on');
    await options.check({ backend: lane.backend, announcedPid, keepsSettings, is_standby, encoding, settings }, url);
    if (ended) throw new Error('the connection was lost while it was checked');
  } catch (error) {
    socket.destroy();
    throw error;
  }
  client.on('notice', (notice) => {
    if (!isNotReplicated(notice.code)) return;
    unconfirmed ??= new OutcomeUnknown(`The commit may not have reached the standby: ${notice.message}`);
    end();
    socket.destroy();
  });
  return lane;
}

/**
 * A commit that waits for its synchronous standby is not bound by `statement_timeout`, and when someone cancels the
 * wait the server answers success with a warning: 01000, or 57P01 when it shuts down. A failover would forget such a
 * commit, so it must not be acknowledged. No statement of ours raises another warning of these codes.
 */
const isNotReplicated = (code: string | undefined) => code === '01000' || code === '57P01';

type Send = (query: pg.QueryConfig) => Promise<pg.QueryResult>;

async function sendOne(send: Send, step: Step, by: Preparation): Promise<Committed> {
  try {
    const result = toResult(await send(prepared(step, by)));
    return isRefused(step, result) ? { refusedAt: 0 } : { results: [result] };
  } catch (error) {
    if (isRefusal(step, error)) return { refusedAt: 0 };
    throw error;
  }
}

/**
 * If `begin` alone failed (a cancel that hits just it), the statements behind it, already on the wire, would commit one
 * by one. So sessions for batches are read-only by default and a change needs `begin read write`.
 *
 * Statements of a batch have no name. In a transaction that has failed the server refuses to prepare, so the batches
 * behind it in the pipeline, which count on that preparation, would fail with it.
 *
 * A step that refuses raises an error, since `commit` is on the wire already: a step that only said "no" would be
 * committed with all others.
 * @throws the first error: those after it only say that the transaction is aborted.
 */
async function sendTransaction(send: Send, sendLast: Send, steps: readonly Step[]): Promise<Committed> {
  const replies = await Promise.allSettled([
    send({ text: 'begin read write' }),
    ...steps.map((step) =>
      send({ text: step.mustChange ? raisingUnlessChanged(step.sql) : step.sql, values: storableParams(step.params) }),
    ),
    sendLast({ text: 'commit' }),
  ]);
  const firstFailure = replies.findIndex(({ status }) => status === 'rejected');
  const refusing = steps[firstFailure - 1];
  const failure = replies[firstFailure];
  if (refusing && failure?.status === 'rejected' && isRefusal(refusing, failure.reason)) {
    return { refusedAt: firstFailure - 1 };
  }
  const results = replies.map((reply, index) => {
    if (reply.status === 'fulfilled') return reply.value;
    // An error of the server before the commit was reached: whatever it was, the transaction ended with it.
    if (index < replies.length - 1 && reply.reason instanceof pg.DatabaseError)
      throw settledError(reply.reason, index === 0);
    throw reply.reason;
  });
  // The commit of an aborted transaction is answered, without error, by "ROLLBACK".
  if (results.at(-1)?.command !== 'COMMIT') throw new StoreUnavailable('PostgreSQL rolled the batch back.');
  return { results: results.slice(1, -1).map(toResult) };
}

/** The same rows, or `division_by_zero` if there are none. Read from the count outwards, or the planner leaves it out. */
const raisingUnlessChanged = remembered((sql) => {
  const statement = /\breturning\b/i.test(sql) ? sql : `${sql} returning 1 as one`;
  return `with changed as (${statement})
      select changed.* from (select 1 / count(*) as met from changed) as required left join changed on true
       where required.met >= 0`;
});

/** Of the texts of statements, which are few. */
function remembered(make: (sql: string) => string): (sql: string) => string {
  const made = new Map<string, string>();
  return (sql) => made.getOrInsertComputed(sql, make);
}

const toResult = ({ rowCount, rows }: pg.QueryResult): BatchResult => ({ changes: rowCount ?? 0, rows });

const sessionQuery = `
  select pg_backend_pid() as pid, current_user as role, pg_is_in_recovery() as is_standby,
         current_setting('server_encoding') as encoding,
         current_setting('default_transaction_read_only') as read_only,
         current_setting('enable_seqscan') as seqscan,
         (select (extract(epoch from backend_start) * 1000000)::bigint from pg_stat_activity
           where pid = pg_backend_pid()) as started_at,
         ${durabilitySettings.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`;

/**
 * Every statement finds its rows by an index, and its plan is kept. Without these settings one that is made while a table is
 * small, or while its statistics say so, reads the whole table for every request until the next `analyze`.
 */
export const plannerSettings = {
  enable_seqscan: 'off', // only where there is an index
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  jit: 'off', // before version 18 a scan that is "off" costs so much that the plan would be compiled
};

/**
 * Other nodes see by its name that this one is there. PostgreSQL cuts names to 63 bytes, once it has written out each byte
 * that is not ASCII as four. The last of equal parameters counts; a URL of `pg`'s may name a socket, which `URL` does not read.
 */
function ownSession(url: string, { use, run_id }: LaneOptions): string {
  const [, query = ''] = url.split('?');
  const given = new URLSearchParams(query);
  const name = `${(given.get('application_name') ?? 'signet').replace(/[^ -~]/g, '?').slice(0, 40)} ${run_id}`;
  const settings = { ...plannerSettings, ...(use === 'batches' && { default_transaction_read_only: 'on' }) };
  const options = Object.entries(settings).map(([setting, value]) => `-c ${setting}=${value}`);
  const own = { application_name: name, options: [given.get('options') ?? '', ...options].join(' ').trim() };
  const parameters = Object.entries(own).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return `${url}${url.includes('?') ? '&' : '?'}${parameters.join('&')}`;
}

/** Parameters of a combined statement are lists. */
export type BoundStatement = Pick<Statement, 'sql'> & { readonly params?: readonly (Param | readonly Param[])[] };

/** Of a statement: with all of the same text on its connection, or for itself. */
export type Preparation = 'shared' | 'own';

/** By its name the server knows the statement's plan again; the name follows from the text, so it never collides. */
const prepared = ({ sql, params }: BoundStatement, by: Preparation): pg.QueryConfig => ({
  ...(by === 'shared' && { name: statementName(sql) }),
  text: sql,
  values: storableParams(params),
});

const storableParams = (params: BoundStatement['params'] = []) =>
  params.map((param) => (typeof param === 'object' && param !== null ? param.map(storable) : storable(param)));

const statementName = remembered((sql) => hash('sha256', sql, 'base64url'));
