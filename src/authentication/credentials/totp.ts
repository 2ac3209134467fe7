import type { Deps } from '../../platform/deps.ts';

/** RFC 6238 as every authenticator app does it (decisions §10). More digits or another hash would lose half of them. */
const parameters = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** Steps before and after the present one: a clock that is off by 30 s, or a slow reader (RFC 6238 §5.2). */
const window = 1;
/** RFC 4226 §4 R6 asks for 128 bits and recommends these 160. */
const secretBytes = 20;

/** @returns a fresh secret in base32. */
export async function newTotpSecret(): Promise<string> {
  const { Secret } = await import('otpauth');
  return new Secret({ size: secretBytes }).base32;
}

/**
 * The time step whose code this is, one step early or late allowed. Constant time in the code.
 * @param at Unix seconds.
 * @returns undefined for a wrong code. Whether the step has been used is the store's to say.
 */
export async function matchingStep(secret_base32: string, code: string, at: number): Promise<number | undefined> {
  const token = normalizeTotpCode(code);
  if (token === undefined) return undefined;
  const { Secret, TOTP } = await import('otpauth');
  const secret = Secret.fromBase32(secret_base32);
  const timestamp = at * 1000;
  const delta = TOTP.validate({ ...parameters, secret, token, timestamp, window });
  return delta === null ? undefined : TOTP.counter({ ...parameters, timestamp }) + delta;
}

/** Apps show codes in groups, and some keyboards type wide digits. @returns undefined if it is no such code. */
function normalizeTotpCode(code: string): string | undefined {
  const tidy = code.slice(0, 100).normalize('NFKC').replace(/[\s-]/g, '');
  return /^[0-9]{6}$/.test(tidy) ? tidy : undefined;
}

/** The Key URI that apps read from the QR code. Its format lets no colon into either name. */
export async function otpauthUri(
  { config }: Pick<Deps, 'config'>,
  account: { email: string; secret_base32: string },
): Promise<string> {
  const { Secret, TOTP } = await import('otpauth');
  const withoutColon = (text: string) => text.replaceAll(':', ' ').trim();
  const issuer = withoutColon(config.brand.name) || 'Signet';
  const label = withoutColon(account.email);
  return new TOTP({ ...parameters, issuer, label, secret: Secret.fromBase32(account.secret_base32) }).toString();
}

/** What the seal of a secret is bound to: it opens for its person alone. */
export const totpPurpose = (user_id: string): string => `totp:${user_id}`;
