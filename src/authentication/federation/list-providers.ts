import type { Db } from '../../platform/db/db.ts';
import { notFound } from '../../platform/errors.ts';
import { identitiesAfter } from '../credentials/identities.store.ts';
import { asProvider, isInSettings } from '../credentials/provider-register.ts';
import { findStoredProvider, listProviders, type ProviderWithSecret } from '../credentials/providers.store.ts';
import { type Provider, type ProviderSettings, providerLogosPath } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';
import { backchannelLogoutUrl, callbackUrl, signalsUrl } from './upstream-authorization.ts';

/** Without its secret. */
export type ListedProvider = {
  readonly id: string;
  readonly label: string;
  readonly issuer: string;
  readonly client_id: string;
  readonly groups_claim: string | null;
  readonly scope: string | null;
  /** Of the picture on its button that the store has. */
  readonly logo_url: string | null;
  readonly source: 'settings' | 'store';
  /** To be registered at the provider. */
  readonly redirect_uri: string;
  readonly backchannel_logout_uri: string;
  /** For its security events; taken once there is a secret. */
  readonly signals_uri: string;
  readonly has_signals_secret: boolean;
  readonly signals_audience: string | null;
  /** Unix seconds; null of one from settings. */
  readonly created_at: number | null;
  readonly disabled_at: number | null;
  /** The settings have its id or its issuer, and count. */
  readonly is_hidden: boolean;
};

/** Those of the settings, then those of the store, oldest first. */
export async function allProviders(deps: Pick<Deps, 'db' | 'config'>): Promise<ListedProvider[]> {
  return [
    ...deps.config.providers.map((one) => listedSetting(deps, one)),
    ...(await listProviders(deps.db)).map((one) => listedOf(deps, one)),
  ];
}

const addressesOf = (deps: Pick<Deps, 'config'>, id: string) => ({
  redirect_uri: callbackUrl(deps, { id }),
  backchannel_logout_uri: backchannelLogoutUrl(deps, { id }),
  signals_uri: signalsUrl(deps, { id }),
});

const listedSetting = (
  deps: Pick<Deps, 'config'>,
  { id, label, issuer, client_id, groupsClaim, scope, signals }: Provider,
): ListedProvider => ({
  ...{ has_signals_secret: signals !== undefined, signals_audience: signals?.audience ?? null },
  ...{ id, label, issuer, client_id, groups_claim: groupsClaim ?? null, scope: scope ?? null },
  logo_url: null,
  ...{ source: 'settings', ...addressesOf(deps, id), created_at: null, disabled_at: null },
  is_hidden: false,
});

export function listedOf(deps: Pick<Deps, 'config'>, row: ProviderWithSecret): ListedProvider {
  const {
    provider_id: id,
    label,
    issuer,
    upstream_client_id,
    groups_claim,
    scope,
    signals_secret_hash,
    signals_audience,
    created_at,
    disabled_at,
    logo_id,
  } = row;
  return {
    ...{ id, label, issuer, client_id: upstream_client_id, groups_claim, scope, created_at, disabled_at },
    ...{ has_signals_secret: signals_secret_hash !== null, signals_audience },
    logo_url: logo_id && `${deps.config.baseUrl}${providerLogosPath}/${logo_id}`,
    ...{
      source: 'store',
      ...addressesOf(deps, id),
      is_hidden: isInSettings(deps.config, { id, issuer }),
    },
  };
}

/** @throws {RequestError} `not_found`. */
export async function findProvider(deps: Pick<Deps, 'db' | 'config'>, id: string): Promise<ListedProvider> {
  const setting = deps.config.providers.find((one) => one.id === id);
  if (setting) return listedSetting(deps, setting);
  const stored = await findStoredProvider(deps.db, id);
  if (!stored) throw notFound();
  return listedOf(deps, stored);
}

/** For a check of their issuers alone: those of the store come without a secret. */
export async function usedProviders(config: ProviderSettings, db: Db): Promise<readonly Provider[]> {
  const vault = { open: () => 'none' }; // a library takes no empty one, and these documents need none
  const stored = (await listProviders(db)).filter(
    ({ provider_id: id, issuer, disabled_at }) => disabled_at === null && !isInSettings(config, { id, issuer }),
  );
  return [...config.providers, ...stored.map((one) => asProvider(vault, one))];
}

/** `linked`: accounts with an identity there; `alone`: those of them that have no other way to sign in now. */
export type ProviderUse = { linked: number; alone: number; is_complete: boolean };

/** As many identities as are looked at for a number that a person reads. */
const mostCounted = 10_000;
const atOnce = 250;

/** @returns the numbers among the first {@link mostCounted}; whether these are all. */
export async function useOfProvider(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  { issuer }: Pick<Provider, 'issuer'>,
): Promise<ProviderUse> {
  const use = { linked: 0, alone: 0, is_complete: true };
  let after = '';
  while (use.linked < mostCounted) {
    const some = await identitiesAfter(db, { config, issuer, after, limit: atOnce });
    use.linked += some.length;
    use.alone += some.filter(({ is_alone }) => is_alone).length;
    after = some.at(-1)?.subject ?? after;
    if (some.length < atOnce) return use;
  }
  return { ...use, is_complete: false };
}
