import { standardClaimNames } from '../accounts/statements.ts';
import type { Api } from '../apis/api.ts';
import { type OwnScope, ownScopes as scopeNames } from '../apis/own-scopes.ts';
import type { ApiRegister, Apis } from '../apis/register.ts';
import { type Attribute, isAttributeScope, labelOf } from '../attributes/attribute.ts';
import type { AttributeRegister, Attributes } from '../attributes/register.ts';
import { type FieldProblem, fieldProblem, invalidFields } from '../platform/errors.ts';
import { listInWords } from '../platform/i18n/formats.ts';
import { type Locale, localeFinder, translatePlain } from '../platform/i18n/translate.ts';
import { remembered } from '../platform/remembered.ts';

type BuiltIn = {
  /** About the user, in userinfo (OIDC Core §5.4 and decisions §5). */
  claims: readonly string[];
  /**
   * It reaches further than who the user is: into the time when they are away, into what they have bought, and who else they belong to. Users and reviewers
   * see that.
   */
  isWeighty?: boolean;
  /** Some clients request all that is advertised. Which product has entitlements, and which reads groups, its developer knows. */
  isAdvertised?: boolean;
};

/** Every scope of ours. Users read `scope.<name>` about it. */
export const builtInScopes = {
  openid: { claims: [] },
  profile: { claims: ['name', ...standardClaimNames, 'picture', 'locale', 'updated_at', 'role'] },
  email: { claims: ['email', 'email_verified'] },
  offline_access: { claims: [], isWeighty: true },
  'entitlements:read': { claims: ['entitlements'], isWeighty: true, isAdvertised: false },
  groups: { claims: ['groups'], isWeighty: true, isAdvertised: false },
} as const satisfies Record<OwnScope, BuiltIn>;

export type Scope = OwnScope;
export { scopeNames };

export const isBuiltInScope = (name: string): name is Scope => Object.hasOwn(builtInScopes, name);
/** Whether it is for Signet itself, and not of an API. One that releases attributes is, also when there are none any more. */
export const isOwnScope = (name: string): boolean => isBuiltInScope(name) || isAttributeScope(name);

export const weightyScopes: readonly string[] = scopeNames.filter((name) => (builtInScopes[name] as BuiltIn).isWeighty);

/** What an authorization request without `scope` requests, before it is cut to what the client is allowed (specification §2.1). */
export const defaultScope: readonly Scope[] = ['openid', 'email', 'profile'];

/** What a client is allowed that was registered without `allowed_scopes` (specification §2.2). */
export const defaultAllowedScopes: readonly Scope[] = ['openid', 'profile', 'email'];

type RegisteredScope = {
  readonly name: string;
  readonly isWeighty: boolean;
  readonly isAdvertised: boolean;
  /** One sentence, for the users who are asked for it. */
  describe(locale: Locale): string;
  /** Whose it is; undefined for one of ours. */
  readonly api?: Api;
};

/** The scopes that there are at one moment, in the order in which they are shown: ours, and then those of each API. */
export type ScopeRegister = {
  list(): readonly RegisteredScope[];
  find(name: string): RegisteredScope | undefined;
};

const labels = (attributes: readonly Attribute[], locale: Locale): string =>
  listInWords(
    locale,
    attributes.map((attribute) => labelOf(attribute, locale)),
  );

const ownScopes = ({ ofScope, ownScopes: names }: AttributeRegister): RegisteredScope[] => [
  ...scopeNames.map((name): RegisteredScope => {
    const { isWeighty = false, isAdvertised = true }: BuiltIn = builtInScopes[name];
    const attributes = ofScope(name);
    const describe = (locale: Locale) => {
      const scope = translatePlain(locale, { key: `scope.${name}` });
      if (attributes.length === 0) return scope;
      return translatePlain(locale, { key: 'scope.also', values: { scope, attributes: labels(attributes, locale) } });
    };
    return { name, isWeighty, isAdvertised, describe };
  }),
  ...names.map((name): RegisteredScope => {
    const describe = (locale: Locale) =>
      translatePlain(locale, { key: 'scope.attributes', values: { attributes: labels(ofScope(name), locale) } });
    return { name, isWeighty: false, isAdvertised: false, describe };
  }),
];

export function scopeRegister({ all }: Pick<ApiRegister, 'all'>, attributes: AttributeRegister): ScopeRegister {
  const list = [
    ...ownScopes(attributes),
    ...all.flatMap((api) =>
      api.scopes.map(({ name, descriptions }): RegisteredScope => {
        const find = localeFinder(Object.keys(descriptions));
        const describe = (locale: Locale) =>
          descriptions[find(locale) ?? find('en') ?? ''] ?? Object.values(descriptions)[0] ?? name;
        // What an API lets a client do is beyond who the user is.
        return { name, isWeighty: true, isAdvertised: false, describe, api };
      }),
    ),
  ];
  const byName = new Map(list.map((scope) => [scope.name, scope]));
  return { list: () => list, find: (name) => byName.get(name) };
}

export type Scopes = {
  /** At most a second old. @throws {StoreUnavailable} */
  read(): Promise<ScopeRegister>;
};

export function openScopes(apis: Apis, attributes: Attributes): Scopes {
  let made: { of: readonly [ApiRegister, AttributeRegister]; register: ScopeRegister } | undefined;
  return {
    async read() {
      const of = await Promise.all([apis.read(), attributes.read()]);
      if (made?.of[0] !== of[0] || made.of[1] !== of[1]) made = { of, register: scopeRegister(...of) };
      return made.register;
    },
  };
}

/** Those that every client may ask for, as discovery names them. */
export const advertisedScopes = scopeNames.filter((name) => (builtInScopes[name] as BuiltIn).isAdvertised !== false);

export const hasScope = (scope: string, name: Scope): boolean => parseScope(scope).includes(name);

/** For a developer, without repeating what was sent: an `error_description` never does. */
export const describeAllowed = (allowed: readonly string[]): string =>
  `scope names nothing that is allowed. Allowed: ${allowed.join(' ')}.`;

/** Whether a scope has characters that no scope has, such as a line break (RFC 6749 §3.3). */
export const isMalformedScope = (text: string): boolean => /[^\x20\x21\x23-\x5b\x5d-\x7e]/.test(text);

/** Names between spaces (RFC 6749 §3.3), without duplicates, known or not. A space too many is none of the names. */
export const parseScope: (text: string) => readonly string[] = remembered((text) =>
  [...new Set(text.split(' '))].filter((name) => name !== ''),
);

/** What was requested and not granted. */
export function leftOut(requested: string, granted: string): string[] {
  const given = parseScope(granted);
  return parseScope(requested).filter((name) => !given.includes(name));
}

type ScopeDeps = { readonly apis: Apis; readonly attributes: Attributes };

/**
 * For a registration or an edit. @param kept what the client has already: one that was retired since must not stop other edits.
 * @throws invalidFields
 */
export async function requireKnownScopes(
  deps: ScopeDeps,
  wanted: readonly string[],
  kept: readonly string[] = [],
): Promise<void> {
  const problems = await unknownScopes(deps, wanted, kept);
  if (problems.length > 0) throw invalidFields(problems);
}

export async function unknownScopes(
  deps: ScopeDeps,
  wanted: readonly string[],
  kept: readonly string[] = [],
): Promise<FieldProblem[]> {
  const known = [...(await usableScopes(deps, wanted)), ...kept];
  return wanted.flatMap((name, place) =>
    known.includes(name) ? [] : [fieldProblem(`allowed_scopes/${place}`, { key: 'problem.client.unknown_scope' })],
  );
}

/**
 * What a client is allowed of what there is: a scope of an API ends with it, and one of attributes with the last of them, or people would
 * agree to nothing that may be something later. Nothing is read for a client of ours alone.
 */
export async function usableScopes(deps: ScopeDeps, allowed: readonly string[]): Promise<readonly string[]> {
  if (allowed.every(isBuiltInScope)) return allowed;
  const ownScopes = allowed.some(isAttributeScope) ? (await deps.attributes.read()).ownScopes : [];
  const ofScope = allowed.every(isOwnScope) ? () => undefined : (await deps.apis.read()).ofScope;
  return allowed.filter(
    (name) => isBuiltInScope(name) || (isAttributeScope(name) ? ownScopes.includes(name) : ofScope(name) !== undefined),
  );
}

/** The part of a scope that a client is allowed: an administrator may have taken some away since it was granted. */
export const withinAllowed = (scope: string, allowed: readonly string[]): string =>
  parseScope(scope)
    .filter((name) => allowed.includes(name))
    .join(' ');
