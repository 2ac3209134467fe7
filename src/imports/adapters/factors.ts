/** How products call Google, which is known here by its issuer; any other by the ID that its provider has here. */
const google = /^(?:google(?:[-_.](?:oauth2|com|oauth))?|oauth_google)$/i;

export const issuerOf = (provider: string): { issuer: string } | { provider: string } =>
  google.test(provider) ? { issuer: 'https://accounts.google.com' } : { provider: provider.replace(/^oauth_/, '') };

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648 §6, without padding. */
export function base32Of(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += alphabet[(value >>> (bits - 5)) & 31];
  }
  return bits > 0 ? text + alphabet[(value << (5 - bits)) & 31] : text;
}

/** Of a key URI, as apps scan it; undefined for another text. */
export function totpOfUri(text: string | undefined): object | undefined {
  const url = text === undefined ? null : URL.parse(text);
  if (url?.protocol !== 'otpauth:') return undefined;
  const number = (name: string) => (url.searchParams.has(name) ? Number(url.searchParams.get(name)) : undefined);
  return {
    secret: url.searchParams.get('secret') ?? '',
    algorithm: url.searchParams.get('algorithm') ?? undefined,
    digits: number('digits'),
    period: number('period'),
  };
}
