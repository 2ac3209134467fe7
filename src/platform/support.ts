import { asciiEmail } from './email-address.ts';

/**
 * @param support as SIGNET_SUPPORT has it: a mail address or an https URL.
 * @returns what a link to it says and where it leads.
 */
export function supportLink(support: string): { text: string; href: string } {
  if (support.startsWith('https:')) return { text: support.slice('https://'.length).replace(/\/$/, ''), href: support };
  return { text: support, href: `mailto:${encodeURIComponent(asciiEmail(support)).replace('%40', '@')}` };
}
