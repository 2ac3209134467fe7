import type { Deps } from '../oauth/deps.ts';

export type TransferDeps = Pick<
  Deps,
  'db' | 'settings' | 'branding' | 'clock' | 'config' | 'vault' | 'placement' | 'claims' | 'providers' | 'attributes'
>;
