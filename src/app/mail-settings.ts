import { ConfigError } from '../platform/errors.ts';
import { isContact } from '../platform/support.ts';

function must(holds: boolean, sentence: string): void {
  if (!holds) throw new ConfigError(sentence);
}

export function readSmtpUrl(value: string | undefined): string | undefined {
  must(
    value === undefined || isSmtpUrl(value),
    'SIGNET_SMTP_URL must look like smtp://user:password@mail.example.com:587, or smtps://. Percent-encode special characters in the password.',
  );
  return value;
}

function isSmtpUrl(value: string): boolean {
  const url = URL.parse(value);
  if (!url) return false;
  const isDecodable = !/%(?![0-9a-f]{2})/i.test(url.username + url.password);
  const isServerAlone = url.hostname !== '' && /^\/?$/.test(url.pathname) && url.search === '' && url.hash === '';
  return /^smtps?:$/.test(url.protocol) && isServerAlone && isDecodable;
}

export function readMailFrom(value: string): string {
  must(
    /^([^\s<>@]+@[^\s<>@]+|[^<>\r\n]{0,100}<[^\s<>@]+@[^\s<>@]+>)$/.test(value),
    'SIGNET_MAIL_FROM must be an address, or a name and an address: Example <no-reply@example.com>.',
  );
  return value;
}

/** Pages and mails show it to everyone. */
export function readSupport(value: string | undefined): string | undefined {
  must(
    value === undefined || isContact(value),
    'SIGNET_SUPPORT must be a mail address or an https URL, such as help@example.com or https://example.com/help.',
  );
  return value;
}
