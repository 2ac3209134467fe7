import { type Db, type OneDb, StoreUnavailable } from '../db/db.ts';
import { networkKey } from '../ip-address.ts';
import { currentRequest } from './current-request.ts';

/** Of the room: while less is waiting, nothing is counted by network. */
const quiet = 0.1;

/**
 * The store serves first whatever comes first, and refuses everyone when its queues are full. So the requests of one network
 * of addresses may have as much waiting as there is room left for all others: one alone half of it, nine a tenth each, and there
 * is always some left for one more. Each server of a store in several parts has a room of its own.
 */
export function shareStore(db: Db): void {
  const queues = new Map<unknown, Queue>();
  const queueOf = (part: OneDb): Queue => {
    const server = part.server?.();
    let queue = queues.get(server);
    if (queue === undefined) {
      queue = { waiting: 0, waitingOf: new Map() };
      queues.set(server, queue);
    }
    return queue;
  };
  for (const part of db.parts) sharePart(part, () => queueOf(part), db);
}

/** Statements that wait for one server, in all and of each network. */
type Queue = { waiting: number; readonly waitingOf: Map<string, number> };

function sharePart(part: OneDb, queueNow: () => Queue, db: Pick<Db, 'room'>): void {
  const { query, commit } = part;

  function inShare<Reply>(statements: number, ask: () => Promise<Reply>): Promise<Reply> {
    const queue = queueNow();
    const { waiting, waitingOf } = queue;
    const ip = waiting < quiet * db.room ? undefined : currentRequest.getStore()?.requester?.ip;
    const network = ip === undefined ? undefined : networkKey(ip);
    if (network !== undefined && (waitingOf.get(network) ?? 0) >= db.room - waiting) {
      return Promise.reject(new StoreUnavailable('Too many statements of one address are waiting.'));
    }
    const count = (more: number) => {
      queue.waiting += more;
      if (network === undefined) return;
      const rest = (waitingOf.get(network) ?? 0) + more;
      if (rest > 0) waitingOf.set(network, rest);
      else waitingOf.delete(network);
    };
    const reply = ask();
    count(statements);
    const answered = () => count(-statements);
    reply.then(answered, answered);
    return reply;
  }

  part.query = (statement) => inShare(1, () => query(statement));
  // A batch is sent with a `begin` and a `commit`.
  part.commit = (steps) => inShare(steps.length === 1 ? 1 : steps.length + 2, () => commit(steps));
}
