/**
 * The commands of an operator's day that are run in an order, each as its page prints it, by `test/install/operators-day.ts`.
 * Of the same page, `documents.test.ts` runs all others.
 */
export const operatorsDay: readonly { page: string; commands: readonly string[] }[] = [
  { page: 'install.md', commands: ['signet serve'] },
  { page: 'monitoring.md', commands: ['curl http://127.0.0.1:9100/metrics'] },
  {
    page: 'backup.md',
    commands: [
      'signet backup /var/backups/signet/monday.db',
      'signet restore /var/backups/signet/monday.db --force --reason "the disk broke"',
      'signet restore --after-copy --reason "the disk broke"',
    ],
  },
  {
    page: 'upgrade.md',
    commands: [
      'signet doctor',
      'signet backup /var/backups/signet/before-upgrade.db',
      'signet --version',
      'signet healthcheck',
      'signet restore /var/backups/signet/before-upgrade.db --force --reason "back to the version before"',
    ],
  },
  {
    page: 'keys.md',
    commands: [
      '(umask 077 && openssl rand -base64 32 > /etc/signet/master-2027.key)',
      'signet rekey',
      'signet keys list',
      'signet keys rotate',
    ],
  },
  {
    page: 'postgresql.md',
    commands: [
      '(umask 077 && openssl rand -base64 32 > /etc/signet/master.key)',
      'signet audit accept-loss --reason "the primary was lost"',
    ],
  },
];
