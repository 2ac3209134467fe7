import { type Role, roles } from '../../accounts/roles.ts';
import { perStandardClaim, type StandardClaim } from '../../accounts/statements.ts';
import { type Attribute, labelOf, type Value } from '../../attributes/attribute.ts';
import { inWords } from '../../attributes/fields.ts';
import type { AttributeRegister } from '../../attributes/register.ts';
import { parseValues, type Values } from '../../attributes/values.ts';
import { builtInScopes, parseScope, type Scope, scopeNames } from '../../clients/scopes.ts';
import { Entitlement } from '../../entitlements/entitlement.ts';
import { asciiEmail } from '../../platform/email-address.ts';
import { listInWords } from '../../platform/i18n/formats.ts';
import { locales, nameOfLanguage } from '../../platform/i18n/translate.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { remembered } from '../../platform/remembered.ts';
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
type BuiltInClaims = Static<typeof UserClaims>;
type BuiltInClaim = keyof BuiltInClaims;
/** With those of attributes that the operator has defined, by their names. */
export type UserClaims = BuiltInClaims & Readonly<Record<string, unknown>>;

const claimsOfScope = new Map<string, readonly BuiltInClaim[]>(
  scopeNames.map((scope) => [scope, builtInScopes[scope].claims]),
);

const builtInClaims = Object.keys(UserClaims.properties) as readonly BuiltInClaim[];
const isBuiltInClaim = (name: string): name is BuiltInClaim => scopes.has(name);

/** Every claim about a user that there is at the moment. A built-in one is none of an attribute, whatever that is called. */
export const userClaimNames = ({ all }: AttributeRegister): readonly string[] => [
  ...builtInClaims,
  ...all.map(({ name }) => name),
];

/** Which scope releases it; undefined if it is none. */
export const scopeOfClaim = ({ named }: AttributeRegister, claim: string): string | undefined =>
  scopes.get(claim) ?? named(claim)?.scope;

/** @param scope words, separated by spaces. */
export const claimsWithin = (register: AttributeRegister, scope: string): readonly string[] =>
  finders.getOrInsertComputed(register, claimsFinder)(scope);

const claimsFinder = ({ ofScope }: AttributeRegister) =>
  remembered((scope): readonly string[] =>
    parseScope(scope).flatMap((name) => [...(claimsOfScope.get(name) ?? []), ...ofScope(name).map((one) => one.name)]),
  );
const finders = new WeakMap<AttributeRegister, ReturnType<typeof claimsFinder>>();

const labelOfClaim = (view: View, { named }: AttributeRegister, claim: string): string => {
  if (isBuiltInClaim(claim)) return view.plain(`claim.${claim}`);
  const attribute = named(claim);
  return attribute ? labelOf(attribute, view.locale) : claim;
};

/** For users: what is asked for by name. */
export const claimList = (view: View, register: AttributeRegister, claims: readonly string[]): Html =>
  view.t('consent.claims', {
    claims: listInWords(
      view.locale,
      claims.map((claim) => labelOfClaim(view, register, claim)),
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
  attributes: string | null;
} & Readonly<Record<StandardClaim, string | null>>;

/** What is rows of their own, and read only where it is wanted. */
export type ClaimLists = { entitlements(): Promise<Entitlement[]>; groups(): Promise<string[]> };
/** For pages that name such claims, and do not list them. */
export const noLists: ClaimLists = { entitlements: async () => [], groups: async () => [] };

export async function userClaims(
  user: ClaimSource,
  wanted: readonly string[],
  { lists, attributes: { named } }: { lists: ClaimLists; attributes: AttributeRegister },
): Promise<UserClaims> {
  const claims: Record<string, unknown> = {};
  let values: Values | undefined;
  for (const claim of wanted) {
    if (!isBuiltInClaim(claim)) {
      values ??= parseValues(user.attributes);
      const value = values.get(named(claim)?.attribute_id ?? '');
      if (value !== undefined) claims[claim] = value;
    } else if (claim === 'entitlements' || claim === 'groups') claims[claim] ??= await lists[claim]();
    else if (claim === 'email')
      claims.email = asciiEmail(user.email); // an addr-spec of RFC 5322 (OIDC Core §5.1)
    else if (claim === 'email_verified') claims.email_verified = user.email_verified_at !== null;
    else if (user[claim] !== null) claims[claim] = user[claim];
  }
  return claims as UserClaims;
}

/** What pages show of it, by its name; see {@link sharedValues}. */
export type Shared = { values: UserClaims; attributes: AttributeRegister };

/** "Name: Ada Lovelace · Username: ada". What the user has not entered is not shared. */
export function sharedValues(view: View, claims: readonly string[], { values, attributes }: Shared): Html | false {
  const entries = claims.flatMap((claim) => {
    const attribute = isBuiltInClaim(claim) ? undefined : attributes.named(claim);
    const value = attribute ? attributeInWords(view, attribute, values[claim]) : valueInWords(view, claim, values);
    if (value === undefined) return [];
    return [
      view.t('consent.entry', {
        label: labelOfClaim(view, attributes, claim),
        value: claim === 'email' ? untrustedEmail(value) : untrusted(value, 100),
      }),
    ];
  });
  return (
    entries.length > 0 &&
    html`<p class="soft">${entries.map((entry, place) => html`${place > 0 && ' · '}${entry}`)}</p>`
  );
}

/** One that its person does not see is named, and its value is not. */
const attributeInWords = (view: View, attribute: Attribute, value: unknown): string | undefined =>
  value === undefined || !attribute.is_shown ? undefined : inWords(view, value as Value);

function valueInWords(view: View, claim: string, values: UserClaims): string | undefined {
  if (!isBuiltInClaim(claim)) return undefined;
  if (claim === 'email_verified' || claim === 'updated_at' || claim === 'entitlements' || claim === 'groups')
    return undefined;
  const value = values[claim];
  const role = claim === 'role' ? roles.find((one) => one === value) : undefined;
  if (role !== undefined) return view.plain(`account.role.${role}`);
  return claim === 'locale' && locales.some((one) => one === value) ? nameOfLanguage(value!) : value;
}
