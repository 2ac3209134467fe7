import { inviteAdministrator } from '../admin/invite-administrator.ts';
import type { Deps } from '../deps.ts';
import { listKeys } from '../keys/list-keys.ts';
import { publishedBeforeUseSeconds, rotateNow } from '../keys/rotate-keys.ts';
import { type Command, table, time } from './command.ts';

async function keyReport(deps: Deps) {
  const keys = await listKeys(deps);
  const rows = keys.map((key) => [key.kid, key.algorithm, key.status, time(key.created_at), time(key.activated_at)]);
  return { json: { keys }, text: table([['KID', 'ALGORITHM', 'STATUS', 'PUBLISHED', 'ACTIVE SINCE'], ...rows]) };
}

export const operationCommands: Record<string, Command> = {
  'admin invite': {
    usage: 'admin invite',
    begins: true,
    summary: "Prints a link with which one person, once, within a day, makes an administrator's account.",
    async run(deps) {
      const invitation = await inviteAdministrator(deps, 'cli');
      return { json: invitation, text: `${invitation.url}\nGood once, until ${time(invitation.expires_at)}.` };
    },
  },
  'keys list': {
    usage: 'keys list',
    summary: 'Lists the signing keys: active ones sign, next ones are published ahead, retiring ones still verify.',
    run: keyReport,
  },
  'keys rotate': {
    usage: 'keys rotate',
    summary: `Lets the next keys sign now. A key published less than ${publishedBeforeUseSeconds / 60} minutes ago is left waiting, because relying parties may not have seen it.`,
    async run(deps) {
      const retired = await rotateNow(deps, 'cli');
      const { json, text } = await keyReport(deps);
      const said =
        retired.length > 0
          ? `Rotated; ${retired.length} key(s) stopped signing.`
          : 'Nothing rotated: the next keys were published too recently. Try again in a quarter of an hour.';
      return { json: { rotated: retired, ...json }, text: `${said}\n\n${text}`, failed: retired.length === 0 };
    },
  },
  migrate: {
    usage: 'migrate',
    begins: true,
    summary: 'Brings the tables up to this version and stops. Starting the server does the same.',
    // Opening the store has migrated it already, as every command does.
    run: async () => ({ json: { migrated: true }, text: 'The tables are up to date.' }),
  },
};
