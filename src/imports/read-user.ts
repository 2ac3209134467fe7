import { type StandardClaim, standardClaimNames } from '../accounts/statements.ts';
import { withoutRules } from '../attributes/register.ts';
import { changeValues, readValue } from '../attributes/values.ts';
import { passwordHashProblem } from '../authentication/credentials/password-formats.ts';
import { logoUrlProblem } from '../clients/page-url.ts';
import { now } from '../platform/clock.ts';
import { emailProblem } from '../platform/email-address.ts';
import { RequestError } from '../platform/errors.ts';
import { findLocale, inEnglish, type MessageDescriptor } from '../platform/i18n/translate.ts';
import { displayNameProblem, normalizeName } from '../platform/text.ts';
import { compile } from '../platform/validator.ts';
import { profileRules } from '../self-service/profile/profile-rules.ts';
import type { ReadingDeps } from './deps.ts';
import { ImportedUser, type Member } from './format.ts';
import { type Identity, type Passkey, readIdentity, readPasskey, readTotp, type Totp } from './read-factors.ts';
import { subjectProblem } from './subject.ts';

/** `path` is a JSON pointer without its first slash; `message` is a sentence for the operator. */
export type Problem = { path: string; message: string };

/** Members that are not imported: of every user, or of those whose value cannot be used. */
export type Omissions = { without: ReadonlySet<Member>; dropUnusable: ReadonlySet<Member> };
export const nothingOmitted: Omissions = { without: new Set(), dropUnusable: new Set() };

export type CheckedUser = Partial<Record<StandardClaim, string>> & {
  external_id: string;
  sub?: string;
  email: string;
  email_verified: boolean;
  name: string | null;
  picture: string | null;
  locale: string | null;
  /** Undefined: unknown. */
  email_verified_at?: number;
  disabled: boolean;
  disabled_at?: number;
  created_at?: number;
  updated_at?: number;
  last_sign_in_at?: number;
  password_hash?: string;
  password_changed_at?: number;
  password_min_characters?: number;
  totp?: Totp;
  identities: readonly Identity[];
  passkeys: readonly Passkey[];
  /** As the row of a user has them. */
  attributes: string | null;
  /** Names. */
  groups: readonly string[];
};

/** A user who can be stored, or why not; `dropped`: what was left out, by leave of {@link Omissions}. */
export type Reading = { user?: CheckedUser; external_id?: string; problems: Problem[]; dropped: Problem[] };

const shape = compile(ImportedUser);

/** Checks everything of a user that can be checked without the store. */
export function readUser(deps: ReadingDeps, given: unknown, omissions: Omissions = nothingOmitted): Reading {
  const wanted = withoutMembers(given, omissions.without);
  const external_id = idOf(wanted);
  if (!shape.check(wanted)) return { external_id, problems: unique(shape.problems(wanted)), dropped: [] };
  const found: Problem[] = [];
  const user = read(deps, wanted, (path, problem) => {
    if (problem !== undefined)
      found.push({ path, message: typeof problem === 'string' ? problem : inEnglish(problem) });
    return problem === undefined;
  });
  if (found.length === 0) return { user, external_id, problems: [], dropped: [] };
  const mayBeDropped = ({ path }: Problem) => omissions.dropUnusable.has(path.split('/')[0] as Member);
  const problems = found.filter((one) => !mayBeDropped(one));
  const dropped = found.filter(mayBeDropped);
  return { user: problems.length === 0 ? user : undefined, external_id, problems, dropped };
}

/** Whether what stands at a path can be used: it has no problem. */
export type Check = (path: string, problem: MessageDescriptor | string | undefined) => boolean;

function read(deps: ReadingDeps, given: ImportedUser, check: Check): CheckedUser {
  const { config } = deps;
  const { external_id, email, name, picture, password_hash, totp, locale } = given;
  check('external_id', /\p{C}/u.test(external_id) ? 'Must contain visible characters only.' : undefined);
  const email_problem = emailProblem(email);
  check('email', email_problem && { key: email_problem });
  const usable = <Value>(path: Member, value: Value | null | undefined, problemOf: (value: Value) => Problematic) =>
    value === null || value === undefined || !check(path, problemOf(value)) ? undefined : value;
  const shown = usable('name', name, displayNameProblem);
  return {
    external_id,
    email: email.trim(),
    email_verified: given.email_verified ?? false,
    name: shown === undefined ? null : normalizeName(shown),
    picture: usable('picture', picture, logoUrlProblem) ?? null,
    locale: findLocale(locale ?? '') ?? null,
    email_verified_at: given.email_verified_at ?? undefined,
    disabled: given.disabled ?? false,
    disabled_at: given.disabled_at ?? undefined,
    created_at: given.created_at ?? undefined,
    updated_at: given.updated_at ?? undefined,
    last_sign_in_at: given.last_sign_in_at ?? undefined,
    sub: usable('sub', given.sub, subjectProblem),
    ...readClaims(deps, given, usable),
    password_hash: usable('password_hash', password_hash, (stored) => hashProblem(config, stored)),
    password_changed_at: given.password_changed_at ?? undefined,
    password_min_characters: given.password_min_characters ?? undefined,
    totp: totp ? readTotp(totp, check) : undefined,
    identities: (given.identities ?? []).flatMap((one, place) => readIdentity(deps, one, place, check) ?? []),
    attributes: readAttributes(deps, given.attributes ?? {}, check),
    groups: given.groups ?? [],
    passkeys: (given.passkeys ?? []).flatMap((one, place) => readPasskey(deps, one, place, check) ?? []),
  };
}

type Problematic = MessageDescriptor | string | undefined;

function readClaims(
  deps: ReadingDeps,
  given: ImportedUser,
  usable: (
    path: Member,
    value: string | null | undefined,
    problemOf: (value: string) => Problematic,
  ) => string | undefined,
): Partial<Record<StandardClaim, string>> {
  const claims: Partial<Record<StandardClaim, string>> = {};
  const context = { now: now(deps), service: deps.config.brand.name };
  for (const claim of standardClaimNames) {
    const { problem, normalize } = profileRules[claim];
    const value = usable(claim, given[claim], (text) => problem(text, context));
    if (value !== undefined) claims[claim] = normalize?.(value) ?? value;
  }
  return claims;
}

function readAttributes(
  { defined: current, keepsOlderValues }: ReadingDeps,
  given: Readonly<Record<string, unknown>>,
  check: Check,
): string | null {
  const defined = keepsOlderValues ? withoutRules(current) : current;
  const usable = Object.entries(given).filter(([name, value]) => {
    const attribute = defined.named(name);
    const read = attribute && readValue(attribute, value);
    const problem = read === undefined ? unknownAttribute : 'problem' in read ? read.problem : undefined;
    return check(`attributes/${name.slice(0, 100)}`, problem);
  });
  try {
    return changeValues(defined, null, Object.fromEntries(usable), 'administrator').to;
  } catch (error) {
    if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
    for (const { path, message } of error.problems) check(path, message);
    return null;
  }
}

export const unknownAttribute = 'There is no attribute of this name here.';

const hashProblems = {
  unknown_format: 'Is in none of the formats that can be checked here: see password-hashes.md.',
  damaged: 'Begins like a known format, and is damaged.',
  too_costly: 'Would take too much memory or time to check.',
  secret_missing: 'Was made with a secret that is not set: see password-hashes.md.',
} as const;

function hashProblem({ importedSecrets }: ReadingDeps['config'], stored: string): string | undefined {
  const problem = passwordHashProblem(stored, importedSecrets);
  return problem && hashProblems[problem];
}

function withoutMembers(given: unknown, without: ReadonlySet<Member>): unknown {
  if (without.size === 0 || typeof given !== 'object' || given === null) return given;
  return Object.fromEntries(Object.entries(given).filter(([name]) => !without.has(name as Member)));
}

/** For the report of what is refused. */
function idOf(given: unknown): string | undefined {
  const id = typeof given === 'object' && given !== null ? (given as { external_id?: unknown }).external_id : undefined;
  return typeof id === 'string' ? id.slice(0, 512) : undefined;
}

const unique = (problems: readonly Problem[]): Problem[] => [
  ...new Map(problems.map((one) => [`${one.path} ${one.message}`, one])).values(),
];
