import { type Locale, localeFinder } from '../platform/i18n/translate.ts';
import type { AttributeId, EventId } from '../platform/ids.ts';

export const valueTypes = ['string', 'integer', 'number', 'boolean', 'date', 'strings'] as const;
export type ValueType = (typeof valueTypes)[number];
export type Value = string | number | boolean | readonly string[];

/** Whose it is to change. */
export const editors = ['person', 'administrator'] as const;
export const signUps = ['no', 'offered', 'required'] as const;

/** What a user may have, besides the standard claims. Times are Unix seconds. */
export type Attribute = {
  attribute_id: AttributeId;
  /** Of the claim. */
  name: string;
  /** What people read, by language; at least one. */
  labels: Readonly<Record<string, string>>;
  value_type: ValueType;
  rules: Rules;
  /** Which one releases it. */
  scope: string;
  editable_by: (typeof editors)[number];
  /** Whether its person sees it. */
  is_shown: boolean;
  sign_up: (typeof signUps)[number];
  /** Of the last change: each replaces it, which makes it a compare-and-swap. */
  event_id: EventId;
  created_at: number;
  updated_at: number;
};

/** Bounds of the values of one. What is null does not bound. */
export type Rules = {
  /** Characters of a string, or of each of several. */
  max_length: number | null;
  minimum: number | null;
  maximum: number | null;
  /** What a string, or each of several, may be. */
  choices: readonly string[] | null;
};

/** How many there may be: each is a field of a page and a claim of an answer. */
export const maxAttributes = 50;
/** Bytes of the stored text of all values of one user, which userinfo reads with each request. */
export const maxBytesOfUser = 8192;
/** Characters of a string. */
export const longestValue = 1000;
export const defaultLength = 200;
export const maxChoices = 100;
/** Together: each process keeps them in memory, and a page has them all. */
export const maxBytesOfChoices = 4096;
/** Of several strings. */
export const maxStrings = 50;
export const longestLabel = 100;
export const longestName = 60;
export const longestScope = 60;

/** Of a claim: what a program writes as a name, a form has as a field and a list separates by spaces. */
export const namePattern = '^[A-Za-z][A-Za-z0-9_.-]*$';

/**
 * Of a scope that releases attributes alone. What begins so is of no API (`api-rules.ts`), so a scope says by its name that it is for
 * userinfo, and no register is asked for it when tokens are issued.
 */
export const ownScopePrefix = 'userinfo:';
export const ownScopePattern = '^userinfo:[a-z0-9][a-z0-9_.-]*$';
export const isAttributeScope = (scope: string): boolean => scope.startsWith(ownScopePrefix);

/** Scopes about who the user is, which may release attributes as well. */
export const sharedScopes = ['profile', 'email'] as const;

/** Two names with the same key are one to people. */
export const attributeNameKey = (name: string): string => name.toLowerCase();

/** What people read for it: in their language, else in English, else in any that there is. */
export function labelOf({ labels, name }: Pick<Attribute, 'labels' | 'name'>, locale: Locale): string {
  const find = localeFinder(Object.keys(labels));
  return labels[find(locale) ?? find('en') ?? ''] ?? Object.values(labels)[0] ?? name;
}

/**
 * Claims with a meaning of their own, in lower case: those of OpenID Connect (Core §2 and §5.1, logout, CIBA), of JWTs and of tokens (RFC 7519,
 * 7662, 7800, 8693, 9068, 9396 and the registry of JWT claims), and ours. A relying party decides by them whom it has before it.
 */
const reservedClaims: ReadonlySet<string> = new Set(
  [
    'iss sub aud exp nbf iat jti',
    'name given_name family_name middle_name nickname preferred_username profile picture website email email_verified',
    'gender birthdate zoneinfo locale phone_number phone_number_verified address updated_at',
    'azp nonce auth_time at_hash c_hash s_hash acr amr sub_jwk sid events toe txn sub_id',
    'cnf act may_act scope client_id active token_type username authorization_details htm htu ath',
    'roles role groups entitlements permissions user_id vc vp verified_claims prototype',
  ].flatMap((names) => names.split(' ')),
);

/** Also what every object has in JavaScript, so that no relying party finds it where it looks for a member. */
export const isReservedClaim = (name: string): boolean =>
  reservedClaims.has(attributeNameKey(name)) || name in Object.prototype;
