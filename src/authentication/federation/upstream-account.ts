import { emailProblem } from '../../platform/email-address.ts';
import { locales } from '../../platform/i18n/translate.ts';
import { displayNameProblem, normalizeName } from '../../platform/text/visible-text.ts';
import type { Provider } from '../credentials/providers.ts';

/** Who has signed in upstream, as far as we believe it. */
export type UpstreamAccount = {
  /** As configured, which the token's `iss` was compared with. */
  issuer: string;
  subject: string;
  email: string | undefined;
  /** Only what the upstream says in so many words; a text "true" is not it. */
  emailVerified: boolean;
  name: string | null;
  picture: string | null;
  locale: string | null;
  /** When the person last proved who they are there, if it says so. Unix seconds. */
  auth_time: number | undefined;
};

type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

/**
 * What an upstream says in both documents. The id token, which is signed, comes first; `auth_time` is its word alone.
 * An address and whether it is verified are one statement (OIDC Core §5.1), so they come from one document: else an
 * address that a user has merely typed there would count as verified because another one is.
 * @param userinfo empty if the upstream was not asked.
 */
export function claimsOf(idToken: Claims, userinfo: Document): Claims {
  const { email: _email, email_verified: _verified, auth_time: _time, ...others } = userinfo;
  return { ...others, ...idToken, ...statedAddress(idToken, userinfo) };
}

type Document = Readonly<Record<string, unknown>>;

function statedAddress(idToken: Document, userinfo: Document): Document {
  if (idToken.email === undefined || idToken.email === null) {
    return { email: userinfo.email, email_verified: userinfo.email_verified };
  }
  const { email, email_verified } = idToken;
  if (email_verified !== undefined) return { email, email_verified };
  const isSame =
    typeof email === 'string' && typeof userinfo.email === 'string' && isSameAddress(email, userinfo.email);
  return { email, email_verified: isSame ? userinfo.email_verified : undefined };
}

/**
 * One address, whatever the case of its letters. What we fold besides, so that nobody makes a second account that looks
 * like the first (a wide letter, the Kelvin sign), is another mailbox to the upstream that verified it.
 */
export function isSameAddress(one: string, other: string): boolean {
  const spelled = (email: string) => email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return spelled(one) === spelled(other);
}

/** Claims are somebody else's text: what we would not let a person type is left out. */
export function accountOf({ issuer }: Provider, claims: Claims): UpstreamAccount {
  const email = typeof claims.email === 'string' && !emailProblem(claims.email) ? claims.email.trim() : undefined;
  const { auth_time } = claims;
  return {
    issuer,
    subject: claims.sub,
    email,
    emailVerified: email !== undefined && claims.email_verified === true,
    name: typeof claims.name === 'string' && !displayNameProblem(claims.name) ? normalizeName(claims.name) : null,
    picture: typeof claims.picture === 'string' && isPicture(claims.picture) ? claims.picture : null,
    locale: languageOf(claims.locale),
    auth_time: typeof auth_time === 'number' && Number.isFinite(auth_time) ? auth_time : undefined,
  };
}

/** What to call them to somebody who is to recognise themself. */
export const nameOf = ({ email, name, subject }: UpstreamAccount): string => email ?? name ?? subject;

const isPicture = (text: string) =>
  text.length <= 2000 && URL.canParse(text) && new URL(text).protocol === 'https:' && /^[\x21-\x7e]+$/.test(text);

function languageOf(locale: unknown): string | null {
  const language = typeof locale === 'string' ? locale.toLowerCase().split(/[-_]/, 1)[0] : undefined;
  return locales.find((known) => known === language) ?? null;
}
