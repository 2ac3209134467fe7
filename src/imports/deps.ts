import type { Deps } from '../oauth/deps.ts';

export type ImportDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'placement'>;
