import { availableParallelism, cpus, platform, totalmem } from 'node:os';

/** What a figure applies to: it is worth nothing without. @param script of package.json. */
export const whereAndWhen = (script: string) => ({
  command: ['npm run', script, '--', ...process.argv.slice(2)].join(' '),
  date: new Date().toISOString().slice(0, 10),
  machine: `${availableParallelism()} cores of an ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, ${platform()}, Node ${process.versions.node}`,
});
