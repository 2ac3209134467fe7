import { invalidClient } from '../errors.ts';

/** Both halves are form-encoded inside the Base64 (RFC 6749 §2.3.1). */
export function readBasic(authorization: string): { client_id: string; client_secret: string } {
  const [, encoded] = /^basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(authorization) ?? [];
  if (encoded === undefined || authorization.length > 1024) throw invalidClient('not HTTP Basic');
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon < 0) throw invalidClient('no colon in HTTP Basic');
  try {
    const [client_id = '', client_secret = ''] = [decoded.slice(0, colon), decoded.slice(colon + 1)].map((half) =>
      decodeURIComponent(half.replaceAll('+', ' ')),
    );
    return { client_id, client_secret };
  } catch (cause) {
    throw invalidClient(cause);
  }
}
