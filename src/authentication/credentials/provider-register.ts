import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/db.ts';
import { tables } from '../../platform/db/tables.ts';
import { ttlCache } from '../../platform/ttl-cache.ts';
import type { Vault } from '../../platform/vault.ts';
import { listProviders, type ProviderWithSecret } from './providers.store.ts';
import { type Provider, type ProviderSettings, traitsOf } from './providers.ts';

/** The providers that users can sign in with at one moment. */
export type ProviderRegister = {
  /** Those of the settings first. */
  readonly all: readonly Provider[];
  find(id: string): Provider | undefined;
  /** The first one: identities are kept under the issuer. */
  ofIssuer(issuer: string): Provider | undefined;
};

export type Providers = {
  /** At most a second old, so that one that is disabled ends on every node within that second. @throws {StoreUnavailable} */
  read(): Promise<ProviderRegister>;
  /** The next `read` asks the store. */
  forget(): void;
};

type ProviderDeps = { db: Db; clock: Clock; config: ProviderSettings; vault: Vault };

export function openProviders({ db, clock, config, vault }: ProviderDeps): Providers {
  const cache = ttlCache('providers', clock, async () => {
    const stored = (await listProviders(db)).filter(
      ({ provider_id, issuer, disabled_at }) =>
        disabled_at === null && !isInSettings(config, { id: provider_id, issuer }),
    );
    return registerOf([...config.providers, ...stored.map((one) => asProvider(vault, one))]);
  });
  return { read: () => cache.find('all'), forget: () => cache.forget('all') };
}

/** Whether the settings have its id or its issuer, and so hide one of the store. */
export const isInSettings = ({ providers }: ProviderSettings, wanted: Pick<Provider, 'id' | 'issuer'>): boolean =>
  providers.some(({ id, issuer }) => id === wanted.id || issuer === wanted.issuer);

const registerOf = (all: readonly Provider[]): ProviderRegister => ({
  all,
  find: (id) => all.find((one) => one.id === id),
  ofIssuer: (issuer) => all.find((one) => one.issuer === issuer),
});

export const secretPurpose = tables.providers.sealed.client_secret_sealed;

export const asProvider = (
  vault: { open(purpose: string, sealed: string): string },
  one: ProviderWithSecret,
): Provider => ({
  ...traitsOf(one.issuer),
  id: one.provider_id,
  isStored: true,
  label: one.label,
  issuer: one.issuer,
  client_id: one.upstream_client_id,
  client_secret: vault.open(secretPurpose(one.provider_id), one.client_secret_sealed),
  ...(one.groups_claim !== null && { groupsClaim: one.groups_claim }),
  ...(one.scope !== null && { scope: one.scope }),
  ...(one.signals_secret_hash !== null && {
    signals: { secretHash: one.signals_secret_hash, audience: one.signals_audience ?? one.upstream_client_id },
  }),
  ...(one.logo_id !== null && { logoId: one.logo_id }),
});
