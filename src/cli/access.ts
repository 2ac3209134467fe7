import { now } from '../clock.ts';
import { entitlementHistory } from '../entitlements/read-history.ts';
import { endGrantOf } from '../oauth/end-grant.ts';
import { liveGrantsOf } from '../oauth/grants.store.ts';
import { deviceName } from '../sessions/device.ts';
import { endSessionOf } from '../sessions/end-session-of.ts';
import { liveSessionsOf } from '../sessions/store.ts';
import { type Command, table, time } from './command.ts';
import { findPerson } from './users.ts';

const caller = { actor: 'cli' } as const;
const who = 'user_id or e-mail';
const mostListed = 500;

export const accessCommands: Record<string, Command> = {
  'sessions list': {
    usage: `sessions list <${who}>`,
    summary: 'Lists the live sessions of a person, last used first.',
    operands: [who],
    async run(deps, _values, [person = '']) {
      const { user_id } = await findPerson(deps, person);
      const sessions = await liveSessionsOf(deps.db, user_id, now(deps));
      const rows = sessions.map((one) => [
        one.session_id,
        time(one.last_seen_at),
        one.amr,
        one.address ?? '-',
        deviceName(one.user_agent) ?? '-',
      ]);
      return {
        json: {
          sessions: sessions.map(({ user_agent, ...one }) => ({ ...one, device: deviceName(user_agent) ?? null })),
        },
        text: table([['SESSION', 'LAST USED', 'METHODS', 'ADDRESS', 'DEVICE'], ...rows]),
      };
    },
  },
  'sessions end': {
    usage: `sessions end <${who}> <session_id>`,
    summary: 'Ends one session with every grant that came from it, at once and everywhere.',
    operands: [who, 'session_id'],
    async run(deps, _values, [person = '', session_id = '']) {
      const { user_id } = await findPerson(deps, person);
      await endSessionOf(deps, caller, { user_id, session_id });
      return { json: { ended: session_id }, text: `${session_id} has ended, and its tokens are dead.` };
    },
  },
  'grants list': {
    usage: `grants list <${who}>`,
    summary: 'Lists what a person has let clients have, newest first.',
    operands: [who],
    async run(deps, _values, [person = '']) {
      const { user_id } = await findPerson(deps, person);
      const grants = await liveGrantsOf(deps.db, user_id, now(deps), mostListed);
      const rows = grants.map((one) => [
        one.grant_id,
        one.client_id,
        time(one.refreshed_at ?? one.created_at),
        one.scope,
        one.client_name,
      ]);
      return { json: { grants }, text: table([['GRANT', 'CLIENT', 'LAST USED', 'SCOPE', 'NAME'], ...rows]) };
    },
  },
  'grants revoke': {
    usage: 'grants revoke <grant_id>',
    summary: 'Ends a grant: its access and refresh tokens are dead at once.',
    operands: ['grant_id'],
    async run(deps, _values, [grant_id = '']) {
      await endGrantOf(deps, caller, grant_id);
      return { json: { revoked: grant_id }, text: `${grant_id} has ended, and its tokens are dead.` };
    },
  },
  'entitlements show': {
    usage: `entitlements show <${who}>`,
    summary: 'Shows what a person is entitled to, and every write that made it so, newest first.',
    operands: [who],
    async run(deps, _values, [person = '']) {
      const { user_id } = await findPerson(deps, person);
      const history = await entitlementHistory(deps, user_id);
      const current = history.entitlements.map((one) => [
        one.product,
        one.plan,
        one.status,
        `v${one.version}`,
        time(one.current_period_end),
      ]);
      const versions = history.versions.map((one) => [
        time(one.written_at),
        one.product,
        `v${one.version}`,
        one.plan,
        one.status,
        one.source,
        one.credential_id,
      ]);
      const text = [
        table([['PRODUCT', 'PLAN', 'STATUS', 'VERSION', 'PERIOD ENDS'], ...current]),
        table([['WRITTEN', 'PRODUCT', 'VERSION', 'PLAN', 'STATUS', 'SOURCE', 'BY'], ...versions]),
      ].join('\n\n');
      return { json: history, text };
    },
  },
};
