import { tables } from '../../platform/db/tables.ts';
import type { Deps } from '../../platform/deps.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import { asciiDigits } from '../../platform/text.ts';

/** What every authenticator app supports (decisions §10; RFC 6238). */
const parameters = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** Steps before and after the current one, for a clock that is off by 30 s or a slow user (RFC 6238 §5.2). */
const window = 1;
/** RFC 4226 §4 R6 asks for 128 bits and recommends these 160. */
const secretBytes = 20;

/** @returns base32. */
export async function newTotpSecret(): Promise<string> {
  const { Secret } = await import('otpauth');
  return new Secret({ size: secretBytes }).base32;
}

/**
 * The time step of a code, in constant time. Whether the step was used before is decided by the store.
 * @param at Unix seconds.
 * @returns undefined for a wrong code.
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

/** The time step of a moment. @param at Unix seconds. */
export const stepAt = (at: number): number => Math.floor(at / parameters.period);

/** Apps show codes in groups. @returns undefined for anything else. */
function normalizeTotpCode(code: string): string | undefined {
  const tidy = asciiDigits(code.slice(0, 100).normalize('NFKC')).replace(/[\s-]/g, '');
  return /^[0-9]{6}$/.test(tidy) ? tidy : undefined;
}

/** The Key URI that apps read from the QR code. Its format allows no colon in either name. */
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

/** Binds a sealed secret to its user. */
export const totpPurpose = tables.totp.sealed.secret_sealed;

/** White modules around the code, which ISO/IEC 18004 requires. They are drawn, for dark pages. */
const quietZone = 4;

/** A QR code as an SVG with a title for screen readers. Without inline style, for the content security policy. */
export async function qrCode(text: string, title: string): Promise<Html> {
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'M', border: quietZone });
  const modules = html`<rect width="${size}" height="${size}" fill="#fff"/><path fill="#000" d="${data.map(darkRuns).join('')}"/>`;
  const frame = html`viewBox="0 0 ${size} ${size}" width="240" height="240" role="img" shape-rendering="crispEdges"`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" ${frame}><title>${title}</title>${modules}</svg>`;
}

/** Adjacent modules of a row are one rectangle, which is a third of the size. */
function darkRuns(row: readonly boolean[], y: number): string {
  let path = '';
  for (let x = 0; x < row.length; x += 1) {
    const start = x;
    while (row[x]) x += 1;
    if (x > start) path += `M${start} ${y}h${x - start}v1h${start - x}z`;
  }
  return path;
}
