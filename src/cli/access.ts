import { endUserSession } from '../authentication/sessions/end-user-session.ts';
import { listSessions, sessionRecord } from '../authentication/sessions/list-sessions.ts';
import { entitlementHistory, historyRecord } from '../entitlements/read-history.ts';
import type { EntitlementVersion, StoredEntitlement } from '../entitlements/store.ts';
import { endGrantOf } from '../oauth/grants/end-grant.ts';
import { grantRecord, listGrants } from '../oauth/grants/list-grants.ts';
import { done, listed, table, time } from '../platform/cli/report.ts';
import { command } from './command.ts';
import { findPerson, person } from './users.ts';

const caller = { actor: 'cli' } as const;
const maxListed = 500;

export const accessCommands = {
  'sessions list': command({
    summary: 'Lists the live sessions of a person, last used first.',
    operands: person,
    async run(deps, { who }) {
      const { user_id } = await findPerson(deps, who);
      const sessions = (await listSessions(deps, user_id)).map(sessionRecord);
      return listed('sessions', sessions, ['SESSION', 'LAST USED', 'METHODS', 'ADDRESS', 'DEVICE'], (one) => [
        one.session_id,
        time(one.last_seen_at),
        one.amr.join(' '),
        one.address ?? '-',
        one.device ?? '-',
      ]);
    },
  }),
  'sessions end': command({
    summary: 'Ends one session with every grant that came from it, at once and everywhere.',
    operands: { ...person, session_id: { value: 'session_id' } },
    async run(deps, { who, session_id }) {
      const { user_id } = await findPerson(deps, who);
      const ending = endUserSession(deps, caller, { user_id, session_id });
      return done(ending, { ended: session_id }, `${session_id} has ended, and its tokens are dead.`);
    },
  }),
  'grants list': command({
    summary: `Lists what a person has let clients have, the newest ${maxListed}, newest first.`,
    operands: person,
    async run(deps, { who }) {
      const { user_id } = await findPerson(deps, who);
      const grants = (await listGrants(deps, user_id, maxListed)).map(grantRecord);
      return listed('grants', grants, ['GRANT', 'CLIENT', 'LAST USED', 'SCOPE', 'NAME'], (one) => [
        one.grant_id,
        one.client_id,
        time(one.last_used_at ?? one.created_at),
        one.scope.join(' '),
        one.client_name,
      ]);
    },
  }),
  'grants revoke': command({
    summary: 'Ends a grant: its access and refresh tokens are dead at once.',
    operands: { grant_id: { value: 'grant_id' } },
    run: (deps, { grant_id }) =>
      done(
        endGrantOf(deps, caller, grant_id),
        { revoked: grant_id },
        `${grant_id} has ended, and its tokens are dead.`,
      ),
  }),
  'entitlements show': command({
    summary: 'Shows all that a person is entitled to, and the writes that made it so, newest first, a page at a time.',
    operands: person,
    options: {
      product: { value: 'product', help: 'only writes of this one' },
      limit: { value: 'n', whole: [1, 500], help: 'how many writes at most; 50 without it' },
      before: { value: 'place', help: 'where the writes before ended, as it said' },
    },
    async run(deps, { who, ...search }) {
      const { user_id } = await findPerson(deps, who);
      const history = await entitlementHistory(deps, user_id, search);
      const current = history.entitlements.map((one) => [
        one.product,
        one.plan,
        one.status,
        `v${one.version}`,
        time(one.current_period_end),
        ...notesOf(one),
      ]);
      const versions = history.versions.map((one) => [
        time(one.written_at),
        one.product,
        `v${one.version}`,
        one.plan,
        one.status,
        one.source,
        one.credential_id,
        ...notesOf(one),
      ]);
      const text = [
        table([['PRODUCT', 'PLAN', 'STATUS', 'VERSION', 'PERIOD ENDS', ...notes], ...current]),
        table([['WRITTEN', 'PRODUCT', 'VERSION', 'PLAN', 'STATUS', 'SOURCE', 'BY', ...notes], ...versions]),
        ...(history.next === undefined ? [] : [`There are more: --before ${history.next}`]),
      ].join('\n\n');
      return { json: historyRecord(history), text };
    },
  }),
};

const notes = ['CUSTOMER', 'SUBSCRIPTION', 'METADATA'];
const longestNote = 200;

/** What the source keeps for itself; `--json` has all of it. */
const notesOf = ({
  external_customer_id,
  external_subscription_id,
  metadata,
}: EntitlementVersion | StoredEntitlement) => [
  external_customer_id ?? '-',
  external_subscription_id ?? '-',
  metadata === null || metadata.length <= longestNote ? (metadata ?? '-') : `${metadata.slice(0, longestNote)}...`,
];
