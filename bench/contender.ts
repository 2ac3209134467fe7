import { createHash, randomBytes } from 'node:crypto';
import type { Address, Headers } from './load.ts';

/** A server under measurement, as a relying party sees it. */
export type Contender = {
  readonly name: ContenderName;
  readonly address: Address;
  readonly pid: number;
  /** Processes that answer with it: its own others, and those of its database. */
  readonly helpers?: () => readonly number[];
  /** Those of them that are its database's. */
  readonly database?: () => readonly number[];
  /**
   * New authorization codes, each good for one exchange.
   * @param use which access token the exchange must return: what a resource server takes (always a JWT), or what
   * this server's own endpoints take (for the peer an opaque one).
   * @param areKept the grants are used again later.
   */
  readonly codes: (count: number, use: 'resource server' | 'own endpoints', areKept?: boolean) => Promise<Issued[]>;
  /** Authorization requests of users who have a session, each of which gives a code. */
  readonly authorize?: readonly Buffer[];
  /** Forms of sign-ins with the right password. */
  readonly signIn?: readonly Buffer[];
  /** Answers requests for these paths as another server does, from memory. */
  readonly copy?: (paths: readonly string[], from: Address) => Promise<void>;
  /** Before the first request; where it was measured. */
  readonly footprint?: Footprint;
  readonly stop: () => Promise<void>;
};
/**
 * Milliseconds until the first answer, with a new folder and with one that is there; MB of resident memory; and bytes that a code
 * and its exchange add to the write-ahead log of the store.
 */
export type Footprint = { first_start_ms: number; later_start_ms: number; idle_mb: number; wal_bytes: number };
/** A code or a token, and the credentials of the client that it was issued to. */
export type Issued = { readonly text: string; readonly basic: Headers };
/** `slow_disk`: another Signet, whose flushes take longer. `workers`: another of several processes. */
export type ContenderName = 'signet' | 'slow_disk' | 'workers' | 'oidc_provider' | 'floor';

export const scope = 'openid offline_access email profile';
export const redirectUri = 'https://rp.example/callback';
export const nonce = 'n-0S6_WzA2Mj';
export const user = { email: 'ada@example.com', name: 'Ada Lovelace' };

/** One pair for all codes: the server hashes the verifier each time anyhow. */
export const codeVerifier = randomBytes(32).toString('base64url');
export const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url');

export function basicAuthorization(clientId: string, clientSecret: string): Headers {
  const encode = (text: string) => encodeURIComponent(text);
  return { Authorization: `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}` };
}
