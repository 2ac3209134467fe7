import type { ProviderRegister } from '../authentication/credentials/provider-register.ts';
import type { Deps } from '../oauth/deps.ts';

export type ImportDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'placement' | 'providers'>;

/** For what reads a user, which asks no store. */
export type ReadingDeps = Pick<Deps, 'clock' | 'config'> & {
  readonly configured: ProviderRegister;
  /** Whether an identity at a provider that is not here is kept: one of the same issuer finds it. */
  readonly keepsIdentities?: true;
};

export const readingDeps = async ({ clock, config, providers }: ImportDeps): Promise<ReadingDeps> => ({
  clock,
  config,
  configured: await providers.read(),
});
