import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import { type BatchResult, OutcomeUnknown, type Param, type Statement, StoreUnavailable } from './db.ts';
import { storable } from './params.ts';
import { settledError } from './postgres-errors.ts';
import { columnTypes } from './postgres-types.ts';

export type Deadlines = {
  /** The server gives up on a statement after this many milliseconds. */
  readonly statementMs: number;
  /** We give up on a reply. Above the server's, which says why; ours is for a server or a network that says nothing. */
  readonly replyMs: number;
};

const connectMs = 3_000;

/** One pipelined connection: many statements on the wire at once, run by the server one after the other. */
export type Lane = {
  /** Statements on the wire, unanswered. */
  inFlight: number;
  /** One statement in one round trip, its own transaction. */
  run(statement: Statement): Promise<BatchResult>;
  /** `begin`, the statements and `commit` in one round trip. */
  batch(statements: readonly Statement[]): Promise<BatchResult[]>;
  /** Says goodbye after the last reply. */
  end(): Promise<void>;
};

/**
 * Connects.
 * @param use 'statements' or 'batches'; a lane for batches refuses any change outside of `begin read write … commit`.
 * @param onEnd called once when the connection is of no more use.
 * @throws the driver's error.
 */
export async function openLane(
  url: string,
  options: { use: 'statements' | 'batches'; deadlines: Deadlines; run_id: string; onEnd: (lane: Lane) => void },
): Promise<Lane> {
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: named(url, options.run_id),
    stream: () => socket,
    pipeline: true,
    types: columnTypes,
    keepAlive: true,
    connectionTimeoutMillis: connectMs,
    statement_timeout: options.deadlines.statementMs,
    // We write `commit` together with `begin`; a transaction that stays open has lost its client, and holds row locks.
    idle_in_transaction_session_timeout: options.deadlines.statementMs,
    query_timeout: options.deadlines.replyMs,
  });
  // Without a listener a lost connection would end the process. What was in flight hears of it by rejection.
  client.on('error', () => options.onEnd(lane));
  client.on('end', () => options.onEnd(lane));

  /** Set when replies of this connection can no longer be believed. */
  let doubt: OutcomeUnknown | undefined;
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

  async function send(query: pg.QueryConfig): Promise<pg.QueryResult> {
    gatherWrites();
    lane.inFlight += 1;
    try {
      const result = await client.query(query);
      if (doubt) throw doubt;
      return result;
    } catch (error) {
      throw doubt ?? error;
    } finally {
      lane.inFlight -= 1;
    }
  }

  const lane: Lane = {
    inFlight: 0,
    run: async (statement) => toResult(await send(prepared(statement))),
    batch: (statements) => sendBatch(send, statements),
    end: () => client.end(),
  };

  try {
    await client.connect();
    if (options.use === 'batches') await client.query('set default_transaction_read_only = on');
  } catch (error) {
    socket.destroy();
    throw error;
  }
  client.on('notice', (notice) => {
    if (!saysNotReplicated(notice.code)) return;
    doubt ??= new OutcomeUnknown(`The commit may not have reached the standby: ${notice.message}`);
    options.onEnd(lane);
    socket.destroy();
  });
  return lane;
}

/**
 * A commit that waits for its synchronous standby is not bound by `statement_timeout`, and when someone cancels the
 * wait the server answers success with a warning: 01000, or 57P01 when it shuts down. A failover would forget such a
 * commit, so it must not be acknowledged. No statement of ours raises another warning of these codes.
 */
const saysNotReplicated = (code: string | undefined) => code === '01000' || code === '57P01';

/**
 * If `begin` alone failed (a cancel that hits just it), the statements behind it, already on the wire, would commit one
 * by one. So sessions for batches are read-only by default and `begin read write` is the only way in.
 *
 * Statements of a batch have no name. In a transaction that has failed the server refuses to prepare, so the batches
 * behind it in the pipeline, which count on that preparation, would fail with it.
 * @throws the first error: those after it only say that the transaction is aborted.
 */
async function sendBatch(
  send: (query: pg.QueryConfig) => Promise<pg.QueryResult>,
  statements: readonly Statement[],
): Promise<BatchResult[]> {
  const replies = await Promise.allSettled([
    send({ text: 'begin read write' }),
    ...statements.map(({ sql, params }) => send({ text: sql, values: storableParams(params) })),
    send({ text: 'commit' }),
  ]);
  const results = replies.map((reply, index) => {
    if (reply.status === 'fulfilled') return reply.value;
    // An error of the server before the commit was reached: whatever it was, the transaction ended with it.
    if (index < replies.length - 1 && reply.reason instanceof pg.DatabaseError) throw settledError(reply.reason);
    throw reply.reason;
  });
  // The commit of an aborted transaction is answered, without error, by "ROLLBACK".
  if (results.at(-1)?.command !== 'COMMIT') throw new StoreUnavailable('PostgreSQL rolled the batch back.');
  return results.slice(1, -1).map(toResult);
}

const toResult = ({ rowCount, rows }: pg.QueryResult): BatchResult => ({ changes: rowCount ?? 0, rows });

/**
 * Other nodes see by its name that this one is there. PostgreSQL cuts names to 63 characters. The last of equal parameters
 * counts; a URL of `pg`'s may name a socket, which `URL` does not read.
 */
function named(url: string, run_id: string): string {
  const [, query = ''] = url.split('?');
  const given = new URLSearchParams(query).get('application_name') ?? 'signet';
  const name = encodeURIComponent(`${given.slice(0, 40)} ${run_id}`);
  return `${url}${url.includes('?') ? '&' : '?'}application_name=${name}`;
}

/** By its name the server knows the statement's plan again; the name follows from the text, so it never collides. */
const prepared = ({ sql, params }: Statement): pg.QueryConfig => ({
  name: statementName(sql),
  text: sql,
  values: storableParams(params),
});

const storableParams = (params: readonly Param[] = []) => params.map(storable);

const statementNames = new Map<string, string>();

function statementName(sql: string): string {
  let name = statementNames.get(sql);
  if (name === undefined) {
    name = createHash('sha256').update(sql).digest('base64url');
    statementNames.set(sql, name);
  }
  return name;
}
