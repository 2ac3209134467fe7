import { inviteAdministrator } from '../admin/invite-administrator.ts';
import { time } from '../platform/cli/report.ts';
import { command } from './command.ts';

export const operationCommands = {
  serve: command({
    summary: 'Start the server. Configured by SIGNET_* environment variables (docs/configuration.md), all optional.',
    prepares: true,
    run: async () => undefined, // the command line hands over to the server before it opens a store
  }),
  migrate: command({
    prepares: true,
    summary:
      'Migrate the database to this version and create missing keys. Starting the server does the same; no other command does.',
    // Opening the store as a server does has migrated it already.
    run: async () => ({ json: { migrated: true }, text: 'The database is up to date.' }),
  }),
  'admin invite': command({
    summary: 'Print a link that creates one administrator account, once, within a day.',
    async run(deps) {
      const invitation = await inviteAdministrator(deps, 'cli');
      return { json: invitation, text: `${invitation.url}\nWorks once, until ${time(invitation.expires_at)}.` };
    },
  }),
};
