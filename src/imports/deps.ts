import type { AttributeRegister } from '../attributes/register.ts';
import type { ProviderRegister } from '../authentication/credentials/provider-register.ts';
import type { Deps } from '../oauth/deps.ts';

export type ImportDeps = Pick<
  Deps,
  'db' | 'clock' | 'config' | 'vault' | 'placement' | 'claims' | 'providers' | 'attributes'
>;

/** For what reads a user, which asks no store. */
export type ReadingDeps = Pick<Deps, 'clock' | 'config'> & {
  readonly configured: ProviderRegister;
  /** The attributes of users that are defined. */
  readonly defined: AttributeRegister;
  /** Whether an identity at a provider that is not here is kept: one of the same issuer finds it. */
  readonly keepsIdentities?: true;
  /** Whether a value of an attribute is kept that is older than its rules. */
  readonly keepsOlderValues?: true;
};

export const readingDeps = async ({ clock, config, providers, attributes }: ImportDeps): Promise<ReadingDeps> => ({
  clock,
  config,
  configured: await providers.read(),
  defined: await attributes.read(),
});
