import { type Role, roles } from '../../accounts/roles.ts';
import { perStandardClaim, type StandardClaim } from '../../accounts/statements.ts';
import { builtInScopes, parseScope, type Scope, scopeNames } from '../../clients/scopes.ts';
import { Entitlement } from '../../entitlements/entitlement.ts';
import { asciiEmail } from '../../platform/email-address.ts';
import { listInWords } from '../../platform/i18n/formats.ts';
import { locales, nameOfLanguage } from '../../platform/i18n/translate.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { type Static, Type } from '../../platform/schema.ts';

const scopes = new Map<string, Scope>(
  scopeNames.flatMap((scope) => builtInScopes[scope].claims.map((claim) => [claim, scope] as const)),
);

const about = (claim: string, description = '') => ({ description: `${description}Scope \`${scopes.get(claim)}\`.` });
const text = (claim: string, description?: string) => Type.Optional(Type.String(about(claim, description)));

/** The claims about a user, as userinfo and id tokens have them. What the user has not entered is left out. */
export const UserClaims = Type.Object({
  email: text('email'),
  email_verified: Type.Optional(Type.Boolean(about('email_verified'))),
  name: text('name'),
  ...perStandardClaim((claim) => text(claim)),
  picture: text('picture'),
  locale: text('locale', 'A language tag (BCP 47). '),
  updated_at: Type.Optional(Type.Integer(about('updated_at', 'Unix seconds. '))),
  role: text('role'),
  entitlements: Type.Optional(Type.Array(Entitlement, about('entitlements'))),
  groups: Type.Optional(
    Type.Array(Type.String(), about('groups', 'The names of those groups of the user that the client may see. ')),
  ),
});
export type UserClaims = Static<typeof UserClaims>;
export type UserClaim = keyof UserClaims;

const claimsOfScope = new Map<string, readonly UserClaim[]>(
  scopeNames.map((scope) => [scope, builtInScopes[scope].claims]),
);

export const userClaimNames = Object.keys(UserClaims.properties) as readonly UserClaim[];

export const isUserClaim = (name: string): name is UserClaim => scopes.has(name);

export const scopeOfClaim = (claim: UserClaim): Scope => scopes.get(claim)!;

/** @param scope words, separated by spaces. */
export const claimsWithin = (scope: string): UserClaim[] =>
  parseScope(scope).flatMap((name) => claimsOfScope.get(name) ?? []);

/** For users: what is asked for by name. */
export const claimList = (view: View, claims: readonly UserClaim[]): Html =>
  view.t('consent.claims', {
    claims: listInWords(
      view.locale,
      claims.map((claim) => view.plain(`claim.${claim}`)),
    ),
  });

type ClaimSource = {
  email: string;
  email_verified_at: number | null;
  name: string | null;
  picture: string | null;
  locale: string | null;
  role: Role;
  updated_at: number;
} & Readonly<Record<StandardClaim, string | null>>;

/** What is rows of their own, and read only where it is wanted. */
export type ClaimLists = { entitlements(): Promise<Entitlement[]>; groups(): Promise<string[]> };
/** For pages that name such claims, and do not list them. */
export const noLists: ClaimLists = { entitlements: async () => [], groups: async () => [] };

export async function userClaims(
  user: ClaimSource,
  wanted: readonly UserClaim[],
  lists: ClaimLists,
): Promise<UserClaims> {
  const claims: Record<string, unknown> = {};
  for (const claim of wanted) {
    if (claim === 'entitlements' || claim === 'groups') claims[claim] ??= await lists[claim]();
    else if (claim === 'email')
      claims.email = asciiEmail(user.email); // an addr-spec of RFC 5322 (OIDC Core §5.1)
    else if (claim === 'email_verified') claims.email_verified = user.email_verified_at !== null;
    else if (user[claim] !== null) claims[claim] = user[claim];
  }
  return claims as UserClaims;
}

/** "Name: Ada Lovelace · Username: ada". What the user has not entered is not shared. */
export function sharedValues(view: View, claims: readonly UserClaim[], values: UserClaims): Html | false {
  const entries = claims.flatMap((claim) => {
    const value = valueInWords(view, claim, values);
    return value === undefined ? [] : [html`${view.t(`claim.${claim}`)}: ${untrusted(value, 100)}`];
  });
  return (
    entries.length > 0 &&
    html`<p class="soft">${entries.map((entry, place) => html`${place > 0 && ' · '}${entry}`)}</p>`
  );
}

function valueInWords(view: View, claim: UserClaim, values: UserClaims): string | undefined {
  if (claim === 'email_verified' || claim === 'updated_at' || claim === 'entitlements' || claim === 'groups')
    return undefined;
  const value = values[claim];
  const role = claim === 'role' ? roles.find((one) => one === value) : undefined;
  if (role !== undefined) return view.plain(`account.role.${role}`);
  return claim === 'locale' && locales.some((one) => one === value) ? nameOfLanguage(value!) : value;
}
