import type { Profile } from '../../accounts/statements.ts';
import type { Config } from '../../platform/config.ts';
import { emailProblem, readableEmail } from '../../platform/email-address.ts';
import { type FieldProblem, fieldProblem, invalidFields } from '../../platform/errors.ts';
import { findLocale } from '../../platform/i18n/translate.ts';
import { displayNameProblem, isSeen, normalizeName } from '../../platform/text.ts';
import { profileRules } from '../../self-service/profile/profile-rules.ts';
import { invalidValue } from '../errors.ts';
import type { UserForm } from './form.ts';

/** What an account is to be, checked. */
export type WantedUser = {
  userName: string;
  externalId: string | null;
  email: string;
  isPrimary: boolean;
  profile: Pick<Profile, 'name' | 'locale' | 'given_name' | 'middle_name' | 'family_name' | 'nickname' | 'zoneinfo'>;
  /** Null: as it is. */
  active: boolean | null;
};

/** Characters. */
const longestUserName = 254;
const longestExternalId = 255;

const ofName = {
  given_name: ['name.givenName', 'givenName'],
  middle_name: ['name.middleName', 'middleName'],
  family_name: ['name.familyName', 'familyName'],
  nickname: ['nickName', 'nickName'],
  zoneinfo: ['timezone', 'timezone'],
} as const;

/** @throws {RequestError} `invalid_request` with a sentence for each attribute. */
export function readWanted(
  { config, now }: { config: Pick<Config, 'brand'>; now: number },
  form: UserForm,
): WantedUser {
  const { userName, externalId } = form;
  if (userName === null) throw invalidValue('A user has a userName.');
  const email = form.email ?? (userName.includes('@') ? userName : null);
  if (email === null) throw invalidValue('A user has an email address: in emails, or as userName.');
  const name = form.displayName ?? form.formatted;
  const problems: FieldProblem[] = [];
  const emailWrong = emailProblem(email);
  if (emailWrong !== undefined) problems.push(fieldProblem('emails', { key: emailWrong }));
  if (name !== null && displayNameProblem(name)) problems.push(fieldProblem('displayName', { key: 'problem.name' }));
  for (const [claim, [path, field]] of claimEntries) {
    const text = form[field];
    const problem = text === null ? undefined : profileRules[claim].problem(text, { now, service: config.brand.name });
    if (problem) problems.push(fieldProblem(path, problem));
  }
  if (problems.length > 0) throw invalidFields(problems);
  requireFit('userName', userName, longestUserName);
  if (externalId !== null) requireFit('externalId', externalId, longestExternalId);
  const claim = (one: keyof typeof ofName) => {
    const text = form[ofName[one][1]];
    return text === null ? null : (profileRules[one].normalize?.(text) ?? text);
  };
  return {
    userName,
    externalId,
    email: readableEmail(email),
    isPrimary: form.primary ?? true,
    profile: {
      name: name === null ? null : normalizeName(name),
      locale: form.preferredLanguage === null ? null : (findLocale(form.preferredLanguage) ?? null),
      given_name: claim('given_name'),
      middle_name: claim('middle_name'),
      family_name: claim('family_name'),
      nickname: claim('nickname'),
      zoneinfo: claim('zoneinfo'),
    },
    active: form.active,
  };
}

const claimEntries = Object.entries(ofName) as [keyof typeof ofName, (typeof ofName)[keyof typeof ofName]][];

function requireFit(attribute: string, text: string, most: number): void {
  if ([...text].length > most || !isSeen(text))
    throw invalidValue(`${attribute} has at most ${most} characters, all of them visible.`);
}

/** The same for all spellings of a user name, which has no case (RFC 7643 §4.1.1). */
export const userNameKey = (userName: string): string =>
  userName
    .slice(0, longestUserName * 2)
    .normalize('NFKC')
    .toLowerCase();
