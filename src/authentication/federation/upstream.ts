import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { fetchForOperator } from '../../platform/http/outbound/operator-fetch.ts';
import { outboundFetch } from '../../platform/http/outbound/outbound-fetch.ts';
import { isLoopback } from '../../platform/ip-address.ts';
import { serverOf } from '../../platform/tracing.ts';
import type { Provider } from '../credentials/providers.ts';

/** An upstream that is down, slow, or answers against the specification. `reason` goes to the log, so it quotes no token. */
export class UpstreamFailure extends Error {
  override name = 'UpstreamFailure';
  readonly reason: string;
  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

/** For each request to an upstream, since a user is waiting. */
const defaultTimeoutSeconds = 5;
const freshSeconds = 600;
const maxBytes = 256 * 1024;

export type Upstreams = ReturnType<typeof openUpstreams>;

type UpstreamDeps = Pick<Deps, 'clock' | 'tracer' | 'outbound'>;
type Opened = { of: Provider; configuration: Promise<Configuration>; opened_at: number | undefined };
/** More than there may be at once: those that were removed meanwhile. */
const mostOpened = 200;

/** Whether metadata that was read for one is good for the other, which may have been changed meanwhile. */
const isSameClient = (one: Provider, other: Provider) =>
  one.issuer === other.issuer &&
  one.client_id === other.client_id &&
  one.client_secret === other.client_secret &&
  one.isStored === other.isStored;

/**
 * The metadata of the configured issuers.
 * @param timeoutSeconds the time for one answer of an upstream, until its last byte.
 */
export function openUpstreams(deps: UpstreamDeps, timeoutSeconds = defaultTimeoutSeconds) {
  const opened = new Map<string, Opened>();

  function discover(provider: Provider): Promise<Configuration> {
    const configuration = discoverIssuer(deps, provider, timeoutSeconds);
    const one: Opened = { of: provider, configuration, opened_at: undefined };
    opened.delete(provider.id);
    opened.set(provider.id, one);
    if (opened.size > mostOpened) opened.delete(opened.keys().next().value!);
    configuration.then(
      () => {
        one.opened_at = now(deps);
      },
      () => {
        if (opened.get(provider.id) === one) opened.delete(provider.id);
      },
    );
    return configuration;
  }

  return {
    /**
     * The issuer as its discovery document describes it, at most ten minutes old.
     * @throws {UpstreamFailure}
     */
    async open(provider: Provider): Promise<Configuration> {
      const known = opened.get(provider.id);
      // One request at a time, however many users wait for it.
      const isFresh = known && (known.opened_at === undefined || now(deps) - known.opened_at < freshSeconds);
      return isFresh && isSameClient(known.of, provider) ? known.configuration : discover(provider);
    },
    /** After a failure: the metadata may have changed, so the next sign-in reads it again. */
    forget: (provider: Provider) => void opened.delete(provider.id),
  };
}

async function discoverIssuer(
  deps: Pick<Deps, 'tracer' | 'outbound'>,
  provider: Provider,
  timeoutSeconds: number,
): Promise<Configuration> {
  const library = await import('openid-client');
  const issuer = new URL(provider.issuer);
  let configuration: Configuration;
  try {
    configuration = await library.discovery(
      issuer,
      provider.client_id,
      // checkIdToken compares the times in a token with our own clock.
      { [library.clockTolerance]: Number.MAX_SAFE_INTEGER },
      authentication(library, provider.client_secret),
      {
        timeout: timeoutSeconds,
        [library.customFetch]: guardedFetch(deps, provider),
        // TLS authenticates the sender, so the signature need not be checked (OIDC Core §3.1.3.7, 6). It is, in case
        // TLS ends at a proxy.
        execute: [
          library.enableNonRepudiationChecks,
          ...(isLoopback(issuer.hostname) ? [library.allowInsecureRequests] : []),
        ],
      },
    );
  } catch (error) {
    throw failureOf(error);
  }
  checkMetadata(configuration.serverMetadata(), issuer);
  return configuration;
}

/**
 * The discovery document and the keys of an issuer as they are now, past what is kept of them.
 * @throws {UpstreamFailure}
 */
export async function readIssuer(
  deps: Pick<Deps, 'tracer' | 'outbound'>,
  provider: Provider,
): Promise<{ authorization_endpoint: string; keys: number }> {
  const configuration = await discoverIssuer(deps, provider, defaultTimeoutSeconds);
  const { authorization_endpoint = '', jwks_uri = '' } = configuration.serverMetadata();
  return { authorization_endpoint, keys: (await fetchKeys(deps, provider, jwks_uri)).length };
}

/** The key set of an issuer: some keys, each of which may be anything. @throws {UpstreamFailure} */
export async function fetchKeys(
  deps: Pick<Deps, 'tracer' | 'outbound'>,
  provider: Provider,
  jwks_uri: string,
): Promise<readonly unknown[]> {
  try {
    const signal = AbortSignal.timeout(defaultTimeoutSeconds * 1000);
    const options = { method: 'GET', headers: { accept: 'application/json' }, body: undefined, signal };
    const response = await guardedFetch(deps, provider)(jwks_uri, { ...options, redirect: 'manual' });
    if (response.status !== 200) throw new UpstreamFailure(`keys_status_${response.status}`);
    const { keys } = (await response.json()) as { keys?: unknown };
    if (!Array.isArray(keys) || keys.length === 0) throw new UpstreamFailure('keys_missing');
    return keys;
  } catch (error) {
    throw failureOf(error);
  }
}

/** Basic if the issuer supports it; without a list it does (OIDC Discovery §3). */
function authentication(library: typeof import('openid-client'), client_secret: string): ClientAuth {
  const [basic, post] = [library.ClientSecretBasic(client_secret), library.ClientSecretPost(client_secret)];
  return (issuer, ...request) => {
    const methods = issuer.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(issuer, ...request);
  };
}

function checkMetadata(metadata: ServerMetadata, issuer: URL): void {
  // With a template of issuers, such as for all tenants of Entra ID, each could assert any address.
  if (!URL.canParse(metadata.issuer) || new URL(metadata.issuer).href !== issuer.href) {
    throw new UpstreamFailure('discovery_issuer');
  }
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    if (!isAllowed(metadata[name], issuer)) throw new UpstreamFailure(`discovery_${name}`);
  }
}

/**
 * Reaches only what the issuer may name, and records it. Of a provider that administrators have added, nothing inside the
 * operator's network either, unless the operator allows it: else its documents could be any service there.
 */
const guardedFetch =
  ({ tracer, outbound }: Pick<Deps, 'tracer' | 'outbound'>, { issuer, isStored }: Provider): CustomFetch =>
  async (url, options) => {
    if (!isAllowed(url, new URL(issuer))) throw new UpstreamFailure('address_not_allowed');
    const attributes = { 'http.request.method': options.method, ...serverOf(url) };
    return tracer.span(
      `${options.method} provider`,
      attributes,
      async (note) => {
        const answer = isStored
          ? await outboundFetch(outbound, url, options, maxBytes)
          : await operatorFetch(url, options as RequestInit);
        const { status } = answer;
        note({ 'http.response.status_code': status }, status < 400 ? undefined : String(status));
        return answer;
      },
      true,
    );
  };

async function operatorFetch(url: string, options: RequestInit): Promise<Response> {
  const { status, headers, body, isTooLarge } = await fetchForOperator(url, options, maxBytes);
  if (isTooLarge) throw new UpstreamFailure('answer_too_large');
  return new Response(body.length === 0 ? null : body, { status, headers });
}

/** https; loopback only for an issuer on loopback, or an upstream could direct requests to services of this host. */
function isAllowed(address: string | undefined, issuer: URL): boolean {
  if (address === undefined || !URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') return false;
  return isLoopback(url.hostname)
    ? isLoopback(issuer.hostname) && /^https?:$/.test(url.protocol)
    : url.protocol === 'https:';
}

/**
 * Failures that may be due to metadata or keys that have changed. Without those that any browser can cause with a made-up
 * code or parameters: each would cost the issuer two more requests, and other users a wait.
 */
export const suggestsStaleMetadata = (reason: string): boolean =>
  /^(discovery_|address_not_allowed|internal_address|answer_too_large|timeout|und_err_|econn|enotfound|eai_again|ehost|enet|err_tls|cert_|oauth_(timeout|key_selection|response_is_not|parse_error|http_request_forbidden|missing_server_metadata|invalid_server_metadata))/.test(
    reason,
  );

/** The library's errors quote the upstream's answer, tokens included; only their codes are used. */
export function failureOf(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  const { code, cause, name } = error as { code?: unknown; cause?: unknown; name?: string };
  const inner = cause instanceof Error ? failureOf(cause) : undefined;
  // The cause says more than an error without a code.
  if (inner && typeof code !== 'string') return inner;
  return new UpstreamFailure(typeof code === 'string' ? code.toLowerCase().slice(0, 60) : (name ?? 'unknown'));
}
