import { inviteAdministrator } from '../admin/invite-administrator.ts';
import { time } from '../platform/cli/report.ts';
import { command } from './command.ts';

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
};
