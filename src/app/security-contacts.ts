import { ConfigError } from '../platform/errors.ts';

const maxContacts = 5;

/**
 * Whom to tell of a vulnerability: URIs, as RFC 9116 §2.5.3 wants them, the preferred one first.
 * @throws {ConfigError}
 */
export function readSecurityContacts(value: string | undefined): readonly string[] {
  const entries = value?.split(',').map((entry) => entry.trim()) ?? [];
  const contacts = entries.map((entry) => (/^[^:/@]+@[^@]+$/.test(entry) ? `mailto:${entry}` : entry));
  if (contacts.length > maxContacts || !contacts.every(isContact)) {
    throw new ConfigError(
      `SIGNET_SECURITY_CONTACT must be a mail address or an https URL, or up to ${maxContacts} of them: security@example.com,https://example.com/security.`,
    );
  }
  return Object.freeze(contacts);
}

/** In printable ASCII: one line of the file, and nothing that would begin another. */
function isContact(uri: string): boolean {
  if (!/^[!-~]{1,300}$/.test(uri)) return false;
  const url = URL.parse(uri);
  return /^mailto:[^/@?]+@[^/@?]+$/.test(uri) || (url?.protocol === 'https:' && url.username === '');
}
