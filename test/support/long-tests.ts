/**
 * The files that `npm run test:long` runs and `npm test` leaves to it, by why they are long. Each takes more than some ten seconds; CI runs
 * them all.
 */
export const longTests: Readonly<Record<string, readonly string[]>> = {
  'servers and databases are killed, frozen or cut off, again and again': [
    'test/imports/killed-imports.test.ts',
    'test/operations/crash.test.ts',
    'test/operations/cut-acts.test.ts',
    'test/operations/disks.test.ts',
    'test/operations/exceptions.test.ts',
    'test/operations/failover.test.ts',
    'test/operations/killed-acts.test.ts',
    'test/operations/lists-of-lost-cells.test.ts',
    'test/operations/lost-cells.test.ts',
    'test/operations/moved-folder.test.ts',
    'test/operations/power-loss.test.ts',
    'test/operations/skewed-nodes.test.ts',
    'test/operations/stopping.test.ts',
    'test/operations/unread-log.test.ts',
    'test/operations/upgrade-in-cells.test.ts',
    'test/operations/workers.test.ts',
    'test/admin/administrators-in-cells.test.ts',
    'test/self-service/alerts-killed.test.ts',
    'test/self-service/usernames-in-cells.test.ts',
  ],
  'stores are moved while they are in use': [
    'test/operations/cells.test.ts',
    'test/operations/move.test.ts',
    'test/operations/move-to-cells.test.ts',
  ],
  'benches, builds and the model are run': [
    'test/operations/bench.test.ts',
    'test/operations/build.test.ts',
    'test/operations/scale-model.test.ts',
  ],
  'every page or mail is looked at, in each language and width': [
    'test/browser/admin.test.ts',
    'test/browser/guides.test.ts',
    'test/browser/mails.test.ts',
    'test/browser/pages.test.ts',
    'test/browser/screenshots.test.ts',
  ],
};
