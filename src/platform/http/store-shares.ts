import { type Db, type Part, StoreUnavailable } from '../db/db.ts';
import { networkKey } from '../ip-address.ts';
import { currentRequest } from './current-request.ts';

/** Of the room: while less is waiting, nothing is counted by network. */
const quiet = 0.1;

/**
 * The store serves first whatever comes first, and refuses everyone when its queues are full. So the requests of one network
 * of addresses may have as much waiting as there is room left for all others: one alone half of it, nine a tenth each, and there
 * is always some left for one more. Each part of the store has its share of the room.
 */
export function shareStore(db: Db): void {
  for (const part of db.parts) sharePart(part, () => Math.floor(db.room / db.parts.length));
}

function sharePart(db: Part, room: () => number): void {
  const { query, commit } = db;
  const waitingOf = new Map<string, number>();
  let waiting = 0;

  function inShare<Reply>(statements: number, ask: () => Promise<Reply>): Promise<Reply> {
    const ip = waiting < quiet * room() ? undefined : currentRequest.getStore()?.requester?.ip;
    const network = ip === undefined ? undefined : networkKey(ip);
    if (network !== undefined && (waitingOf.get(network) ?? 0) >= room() - waiting) {
      return Promise.reject(new StoreUnavailable('Too many statements of one address are waiting.'));
    }
    const count = (more: number) => {
      waiting += more;
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

  db.query = (statement) => inShare(1, () => query(statement));
  // A batch is sent with a `begin` and a `commit`.
  db.commit = (steps) => inShare(steps.length === 1 ? 1 : steps.length + 2, () => commit(steps));
}
