import { now } from '../../platform/clock.ts';
import { notFound } from '../../platform/errors.ts';
import { findProvider } from '../credentials/providers.ts';
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

/**
 * Reads the discovery document and the keys of a provider anew, as a sign-in would. Whether the provider knows our
 * client_id and redirect URI, only a sign-in shows.
 * @throws {RequestError} `not_found`.
 */
export async function checkProvider(
  deps: Pick<Deps, 'clock' | 'tracer' | 'config'>,
  id: string,
): Promise<ProviderCheck> {
  const provider = findProvider(deps.config, id);
  if (provider === undefined) throw notFound();
  const { label, issuer } = provider;
  const of = { provider: id, label, issuer, redirect_uri: callbackUrl(deps, provider), checked_at: now(deps) };
  try {
    return { ...of, found: await readIssuer(deps, provider), problem: null };
  } catch (error) {
    if (error instanceof UpstreamFailure) return { ...of, found: null, problem: error.reason };
    throw error;
  }
}
