import type { Deps } from '../oauth/deps.ts';

export type TransferDeps = Pick<
  Deps,
  'db' | 'clock' | 'config' | 'vault' | 'placement' | 'claims' | 'providers' | 'attributes'
>;
