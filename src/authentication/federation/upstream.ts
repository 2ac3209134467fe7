import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { isLoopback } from '../../platform/ip-address.ts';
import type { Provider } from '../credentials/providers.ts';

/** An upstream that is down, slow, or says what it must not say. `reason` goes to our log, so it never quotes a token. */
export class UpstreamFailure extends Error {
  override name = 'UpstreamFailure';
  readonly reason: string;
  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

/** What this process knows of the configured issuers. */
export type Upstreams = {
  /**
   * The issuer as its discovery document describes it, at most ten minutes old.
   * @throws {UpstreamFailure}
   */
  open(provider: Provider): Promise<Configuration>;
  /** After a failure: it may have moved, so the next sign-in asks anew. */
  forget(provider: Provider): void;
};

/** A person waits: an upstream that says nothing for so long is down. For each request to it. */
const defaultPatienceSeconds = 5;
const freshSeconds = 600;
const maxBytes = 256 * 1024;

type Opened = { configuration: Configuration; opened_at: number };

/** @param patienceSeconds how long one answer of an upstream may take, until its last byte. */
export function openUpstreams(deps: Pick<Deps, 'clock'>, patienceSeconds = defaultPatienceSeconds): Upstreams {
  const opened = new Map<string, Opened>();
  const underWay = new Map<string, Promise<Configuration>>();

  async function discover(provider: Provider): Promise<Configuration> {
    const configuration = await discoverIssuer(provider, patienceSeconds);
    opened.set(provider.id, { configuration, opened_at: now(deps) });
    return configuration;
  }

  return {
    async open(provider) {
      const known = opened.get(provider.id);
      if (known && now(deps) - known.opened_at < freshSeconds) return known.configuration;
      // One at a time: a thousand people who wait for a slow upstream are one request to it.
      const waiting = underWay.get(provider.id) ?? discover(provider).finally(() => underWay.delete(provider.id));
      underWay.set(provider.id, waiting);
      return waiting;
    },
    forget: (provider) => void opened.delete(provider.id),
  };
}

async function discoverIssuer(provider: Provider, patienceSeconds: number): Promise<Configuration> {
  const library = await import('openid-client');
  const issuer = new URL(provider.issuer);
  let configuration: Configuration;
  try {
    configuration = await library.discovery(
      issuer,
      provider.client_id,
      // Our own clock judges the times in a token; see id-token.ts.
      { [library.clockTolerance]: Number.MAX_SAFE_INTEGER },
      authentication(library, provider.client_secret),
      {
        timeout: patienceSeconds,
        [library.customFetch]: guardedFetch(issuer),
        // TLS has named the sender, so the signature could go unchecked (OIDC Core §3.1.3.7, 6). It is checked all the
        // same: one lying box on the way, where TLS ends too early, is then not enough.
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

/** Basic where the issuer takes it; to leave the list out means Basic (OIDC Discovery §3). */
function authentication(library: typeof import('openid-client'), client_secret: string): ClientAuth {
  const [basic, post] = [library.ClientSecretBasic(client_secret), library.ClientSecretPost(client_secret)];
  return (issuer, ...request) => {
    const methods = issuer.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(issuer, ...request);
  };
}

function checkMetadata(metadata: ServerMetadata, issuer: URL): void {
  // A template of issuers, as of all tenants of Entra ID together, would let each of them speak for anybody's address.
  if (!URL.canParse(metadata.issuer) || new URL(metadata.issuer).href !== issuer.href) {
    throw new UpstreamFailure('discovery_issuer');
  }
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    if (!isAllowed(metadata[name], issuer)) throw new UpstreamFailure(`discovery_${name}`);
  }
}

/** Follows no redirect, and reads no more than any honest answer has. */
const guardedFetch =
  (issuer: URL): CustomFetch =>
  async (url, options) => {
    if (!isAllowed(url, issuer)) throw new UpstreamFailure('address_not_allowed');
    const response = await fetch(url, { ...(options as RequestInit), redirect: 'manual' });
    const body = await readBounded(response);
    const { status, headers } = response;
    return new Response(body.length === 0 ? null : body, { status, headers });
  };

async function readBounded(response: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) throw new UpstreamFailure('answer_too_large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** https to the outside; loopback only for an issuer that is on loopback itself, or an upstream could send us inside. */
function isAllowed(address: string | undefined, issuer: URL): boolean {
  if (address === undefined || !URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') return false;
  return isLoopback(url.hostname)
    ? isLoopback(issuer.hostname) && /^https?:$/.test(url.protocol)
    : url.protocol === 'https:';
}

/**
 * Failures after which the issuer may be elsewhere, or sign with other keys, than its document said. Not those that
 * whoever holds a browser can bring about with a code or parameters that they made up: each would cost the issuer two
 * answers more, and everybody else a wait.
 */
export const suggestsStaleMetadata = (reason: string): boolean =>
  /^(discovery_|address_not_allowed|answer_too_large|und_err_|econn|enotfound|eai_again|ehost|enet|err_tls|cert_|oauth_(timeout|key_selection|response_is_not|parse_error|http_request_forbidden|missing_server_metadata|invalid_server_metadata))/.test(
    reason,
  );

/** The library's errors carry what the upstream has said, tokens included; only their codes leave this place. */
export function failureOf(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  const { code, cause, name } = error as { code?: unknown; cause?: unknown; name?: string };
  const inner = cause instanceof Error ? failureOf(cause) : undefined;
  // "Something went wrong" says less than what is inside of it; a code says more.
  if (inner && typeof code !== 'string') return inner;
  return new UpstreamFailure(typeof code === 'string' ? code.toLowerCase().slice(0, 60) : (name ?? 'unknown'));
}
