import type { Config } from '../../platform/config.ts';
import { digest } from '../../platform/ids.ts';
import { isIpAddress } from '../../platform/ip-address.ts';
import type { Passkey } from './passkeys.store.ts';

/** Passkeys that one person may have. */
export const maxPasskeys = 20;
/** COSE algorithms: EdDSA, ES256, RS256 (RFC 9053, RFC 8812), best first. */
export const algorithms = [-8, -7, -257];

/** Whom an authenticator makes a key for and signs to: our host, on our origin alone (WebAuthn §5.1.4, §13.4.9). */
export const relyingParty = ({ baseUrl, brand }: Pick<Config, 'baseUrl' | 'brand'>) => ({
  rpID: new URL(baseUrl).hostname,
  rpName: brand.name,
  origin: baseUrl,
});

/** Browsers make passkeys for names alone, never for an IP address (WebAuthn §5.1.3 step 7). */
export const canHavePasskeys = ({ baseUrl }: Pick<Config, 'baseUrl'>): boolean =>
  !isIpAddress(new URL(baseUrl).hostname);

/** What an authenticator remembers a person by; opaque, and nothing about them (WebAuthn §14.6.1). */
export const userHandle = (user_id: string) => Buffer.from(user_id);

/**
 * What an address or a log calls a passkey. Its credential id has up to 1364 characters, and is what an authenticator
 * answers to.
 */
export const passkeyId = ({ credential_id }: Pick<Passkey, 'credential_id'>): string =>
  `pk_${digest(credential_id).slice(0, 22)}`;
