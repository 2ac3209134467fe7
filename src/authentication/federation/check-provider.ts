import { now } from '../../platform/clock.ts';
import { notFound } from '../../platform/errors.ts';
import { asProvider } from '../credentials/provider-register.ts';
import { findStoredProvider } from '../credentials/providers.store.ts';
import type { Provider } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';
import { readIssuer, UpstreamFailure } from './upstream.ts';
import { callbackUrl } from './upstream-authorization.ts';

export type ProviderCheck = {
  /** Its id. */
  provider: string;
  label: string;
  issuer: string;
  /** To be registered at the provider. */
  redirect_uri: string;
  checked_at: number;
  /** What its documents say; null if they cannot be used. */
  found: { authorization_endpoint: string; keys: number } | null;
  /** A code, as in the log; null if all is well. */
  problem: string | null;
};

type CheckDeps = Pick<Deps, 'clock' | 'tracer' | 'config' | 'outbound'>;

/** {@link checkProvider} by id, also of one that is disabled. @throws {RequestError} `not_found`. */
export async function checkProviderOf(deps: CheckDeps & Pick<Deps, 'db' | 'vault'>, id: string) {
  const inSettings = deps.config.providers.find((one) => one.id === id);
  if (inSettings) return checkProvider(deps, inSettings);
  const stored = await findStoredProvider(deps.db, id);
  if (!stored) throw notFound();
  return checkProvider(deps, asProvider(deps.vault, stored));
}

/**
 * Reads the discovery document and the keys of a provider anew, as a sign-in would. Whether the provider knows our
 * client_id and redirect URI, only a sign-in shows.
 */
export async function checkProvider(deps: CheckDeps, provider: Provider): Promise<ProviderCheck> {
  const { id, label, issuer } = provider;
  const of = { provider: id, label, issuer, redirect_uri: callbackUrl(deps, provider), checked_at: now(deps) };
  try {
    return { ...of, found: await readIssuer(deps, provider), problem: null };
  } catch (error) {
    if (error instanceof UpstreamFailure) return { ...of, found: null, problem: error.reason };
    throw error;
  }
}
