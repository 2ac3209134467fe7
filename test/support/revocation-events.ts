import assert from 'node:assert/strict';
import type { Db, Part } from '../../src/platform/db/db.ts';
import { eventTypes, payloadOf } from '../../src/webhooks/event-types.ts';

const blank = { event_id: '', at: 0, actor: 'system', target: null, reason: null, before_state: null } as const;
const endedOf = (action: string): unknown =>
  JSON.parse(payloadOf({ ...blank, action, after_state: null, address: null })).data.ended;

/** Actions after which a webhook says whose tokens are no longer valid. */
const announced = new Set<unknown>(eventTypes.filter((type) => endedOf(type) !== undefined));

/** These revoke once more what was announced before, for a code that another node was writing at that instant. */
for (const action of ['client.reinstated', 'user.enabled']) announced.add(action);

/** A client whose row says that it is deleted has had its event, or was never there. */
const revocation =
  /^update grants set revoked_at|^insert into grant_endings|^delete from (?:users|clients)\b(?! where status = 'deleted')/;

/**
 * Watches the changes that revoke grants, or delete them with their user or client, and report it to the audit log.
 * @returns a check, for the end of the test, that each of them wrote an event with `ended`: a back end that keeps sessions of
 * its own would miss the others.
 */
export function watchRevocations(db: Db): () => void {
  const missed = new Set<string>();
  for (const part of db.parts) watchPart(part, missed);
  return () => {
    assert.deepEqual([...missed], [], 'these revoke grants; add their actions to src/webhooks/event-types.ts');
  };
}

function watchPart(part: Part, missed: Set<string>): void {
  const { commit } = part;
  const watched: typeof commit = (steps) => {
    const events = steps.filter(({ sql }) => sql.startsWith('insert into audit_log'));
    if (
      events.length > 0 &&
      steps.some(({ sql }) => revocation.test(sql)) &&
      !events.some(({ params = [] }) => params.some((param) => announced.has(param)))
    ) {
      missed.add(events.map(({ params = [] }) => params.join(' ')).join('; '));
    }
    return commit(steps);
  };
  Object.assign(part, { commit: watched });
}
