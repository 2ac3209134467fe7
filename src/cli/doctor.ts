import type { Check } from '../app/doctor/check.ts';
import { type Report, stateInColor } from '../platform/report.ts';
import { columns, commandWithoutStore } from './command.ts';

export const doctorCommand = {
  doctor: commandWithoutStore({
    summary:
      'Check the installation and say what to do. Covers settings, files, store, keys, clock, disk, mail, providers and the base URL, and changes nothing. Exits with 1 if there is a problem.',
    options: {
      deep: { help: 'also read every page and index of the SQLite database; takes minutes for a large one' },
    },
    async runWithoutStore(config, { deep }) {
      const { examine } = await import('../app/doctor/doctor.ts');
      return reportOf(await examine(config, { clock: Date.now, isDeep: deep }));
    },
    async reportSettings(error) {
      const { problemOf } = await import('../app/doctor/check.ts');
      const remedy =
        'Correct the setting; docs/configuration.md lists them all. Everything else is checked after that.';
      return reportOf([problemOf('settings', error, remedy)]);
    },
  }),
};

function reportOf(checks: readonly Check[]): Report {
  const failed = checks.some(({ state }) => state === 'problem');
  const width = Math.max(...checks.map(({ check }) => check.length));
  const rows = checks.flatMap(({ check, state, found, remedy }) => [
    [`${state.padEnd('warning'.length)}  ${check.padEnd(width)}`, found],
    ...(remedy === null ? [] : [['', remedy]]),
  ]);
  const text = columns(rows).replaceAll(/^ {2}(\w+)/gm, (_, state) => `  ${stateInColor(state)}`);
  return { json: { healthy: !failed, checks }, text, failed };
}
