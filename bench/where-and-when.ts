import { availableParallelism, cpus, platform, totalmem } from 'node:os';

/** What a figure applies to: it is worth nothing without. */
export const whereAndWhen = () => ({
  date: new Date().toISOString().slice(0, 10),
  machine: `${availableParallelism()} cores of an ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, ${platform()}, Node ${process.versions.node}`,
});
