import type { TestContext } from 'node:test';
import { type Options, type Signet, startSignet } from './signet.ts';
import { acmeAt, client_id, client_secret, startUpstream, type Upstream } from './upstream.ts';

/** `google` switches a second provider on: at the issuer of `acme`, or at one of its own. */
export type FederatedOptions = Options & { google?: 'same issuer' | 'another issuer' };

/** A server with the provider `acme`, whose issuer shares its clock. `other` is the issuer of `google`. */
export async function startFederatedSignet(
  t: TestContext,
  { google, ...options }: FederatedOptions = {},
): Promise<{ signet: Signet; upstream: Upstream; other: Upstream }> {
  let clock = () => 0;
  const upstream = await startUpstream(t, () => clock());
  const other = google === 'another issuer' ? await startUpstream(t, () => clock()) : upstream;
  const second = google && {
    SIGNET_GOOGLE_ISSUER: other.issuer,
    SIGNET_GOOGLE_CLIENT_ID: client_id,
    SIGNET_GOOGLE_CLIENT_SECRET: client_secret,
  };
  const signet = await startSignet(t, { ...options, env: { ...acmeAt(upstream.issuer), ...second, ...options.env } });
  clock = () => Math.floor(signet.clock() / 1000);
  return { signet, upstream, other };
}
