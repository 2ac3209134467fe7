import { asciiEmail, emailProblem } from './email-address.ts';

/**
 * @param support as SIGNET_SUPPORT has it: a mail address or an https URL.
 * @returns what a link to it says and where it leads.
 */
export function supportLink(support: string): { text: string; href: string } {
  if (support.startsWith('https:')) return { text: support.slice('https://'.length).replace(/\/$/, ''), href: support };
  return { text: support, href: `mailto:${encodeURIComponent(asciiEmail(support)).replace('%40', '@')}` };
}

/** Whether text is what SIGNET_SUPPORT may be. */
export const isContact = (text: string): boolean => isPageUrl(text) || emailProblem(text) === undefined;

/** A page that a service links to: https, in visible ASCII, without a user name. */
export function isPageUrl(text: string): boolean {
  const url = /^[\x21-\x7e]{1,300}$/.test(text) ? URL.parse(text) : null;
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
}
