import { inviteAdministrator } from '../admin/invite-administrator.ts';
import type { Deps } from '../app/deps.ts';
import { listKeys } from '../oauth/signing-keys/list-keys.ts';
import { publishedBeforeUseSeconds, rotateNow } from '../oauth/signing-keys/rotate-keys.ts';
import { listed, time } from '../platform/cli/report.ts';
import { command } from './command.ts';

const keyReport = async (deps: Deps) =>
  listed('keys', await listKeys(deps), ['KID', 'ALGORITHM', 'STATUS', 'PUBLISHED', 'ACTIVE SINCE'], (key) => [
    key.kid,
    key.algorithm,
    key.status,
    time(key.created_at),
    time(key.activated_at),
  ]);

const waitMinutes = publishedBeforeUseSeconds / 60;

export const operationCommands = {
  serve: command({
    summary: 'Starts the server. Configured by SIGNET_* in the environment (docs/configuration.md); none is needed.',
    prepares: true,
    run: async () => undefined, // the command line hands over to the server before it opens a store
  }),
  migrate: command({
    prepares: true,
    summary:
      'Brings the tables up to this version, makes the keys that are missing, and stops. Starting the server does the same; no other command does.',
    // Opening the store as a server does has migrated it already.
    run: async () => ({ json: { migrated: true }, text: 'The tables are up to date.' }),
  }),
  'admin invite': command({
    summary: "Prints a link with which one person, once, within a day, makes an administrator's account.",
    async run(deps) {
      const invitation = await inviteAdministrator(deps, 'cli');
      return { json: invitation, text: `${invitation.url}\nGood once, until ${time(invitation.expires_at)}.` };
    },
  }),
  'keys list': command({
    summary: 'Lists the signing keys: active ones sign, next ones are published ahead, retiring ones still verify.',
    run: keyReport,
  }),
  'keys rotate': command({
    summary: `Lets the next keys sign now. One that was published less than ${waitMinutes} minutes ago is left waiting: relying parties may not have seen it.`,
    async run(deps) {
      const retired = await rotateNow(deps, 'cli');
      const { json, text } = await keyReport(deps);
      const said =
        retired.length > 0
          ? `Rotated; ${retired.length} key(s) stopped signing.`
          : 'Nothing rotated: the next keys were published too recently. Try again in a quarter of an hour.';
      return {
        json: { rotated: retired, ...(json as object) },
        text: `${said}\n\n${text}`,
        failed: retired.length === 0,
      };
    },
  }),
};
