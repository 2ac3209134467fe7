type Members = Readonly<Record<string, unknown>>;

/** Parsed, not verified. */
export type CompactJws = {
  readonly header: Members;
  readonly claims: Members;
  /** What the signature is over. */
  readonly input: Buffer;
  readonly signature: Buffer;
};

/** @returns undefined for what is no compact JWS (RFC 7515 §7.1) with claims, or is longer. */
export function readCompactJws(text: string, maxLength: number): CompactJws | undefined {
  const parts = text.length <= maxLength ? text.split('.', 4) : [];
  const [encodedHeader = '', encodedClaims = '', encodedSignature = ''] = parts;
  const header = decodeJson(encodedHeader);
  const claims = decodeJson(encodedClaims);
  const signature = decodeBase64url(encodedSignature);
  if (parts.length !== 3 || !header || !claims || !signature) return undefined;
  // What must be understood (RFC 7515 §4.1.11) is not.
  if ('crit' in header || 'b64' in header) return undefined;
  return { header, claims, input: Buffer.from(`${encodedHeader}.${encodedClaims}`), signature };
}

/** Several strings decode to the same bytes; only the canonical one is taken. */
function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function decodeJson(text: string): Members | undefined {
  try {
    const decoded: unknown = JSON.parse(decodeBase64url(text)?.toString('utf8') ?? '');
    return typeof decoded === 'object' && decoded !== null && !Array.isArray(decoded)
      ? (decoded as Members)
      : undefined;
  } catch {
    return undefined;
  }
}
