import { takenHandle } from '../../accounts/handles.ts';
import { roles } from '../../accounts/roles.ts';
import {
  claimsOfHandles,
  deletePicture,
  handlesElsewhere,
  handleWrites,
  lockUser,
  mayTakeHandle,
  type Profile,
  perStandardClaim,
  type StandardClaim,
  setProfile,
  standardClaimNames,
  type User,
} from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { attributesWrite } from '../../attributes/change-attributes.ts';
import type { Deps as AttributeDeps } from '../../attributes/deps.ts';
import { AttributeEdits, AttributeValues } from '../../attributes/schema.ts';
import { changeValues, valuesByName } from '../../attributes/values.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { findTotp, listIdentities, type Session } from '../../authentication/statements.ts';
import { logoUrlProblem } from '../../clients/page-url.ts';
import { isTakenClaim } from '../../platform/claims.ts';
import { now } from '../../platform/clock.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { type FieldProblem, fieldProblem, invalidFields, invalidState } from '../../platform/errors.ts';
import { inCode, nameInCode, nullable, Time } from '../../platform/http/operation.ts';
import { httpsUrlPattern } from '../../platform/http/url-patterns.ts';
import { locales, type MessageDescriptor } from '../../platform/i18n/translate.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { picturesPath } from '../../platform/pages/initials.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';
import { profileRules } from './profile-rules.ts';

const descriptions: Readonly<Record<StandardClaim, string>> = {
  given_name: 'Up to 100 visible characters; null: none.',
  middle_name: 'Up to 100 visible characters, of one middle name or several; null: none.',
  family_name: 'Up to 100 visible characters; null: none.',
  nickname: 'Up to 100 visible characters; null: none.',
  preferred_username:
    'A unique handle: 3 to 30 of a-z, 0-9, dot, underscore and hyphen, with a letter or digit at both ends; capitals become small letters. One that is given up is kept for 90 days, and at most three can be had at a time. null: none.',
  profile: 'An https or http address; null: none.',
  website: 'An https or http address; null: none.',
  gender: 'Up to 100 visible characters; null: none.',
  birthdate: '`YYYY-MM-DD`, `0000-MM-DD` without the year, or `YYYY`; null: none.',
  zoneinfo: 'A time zone of the IANA database, such as `Europe/Berlin`; null: none.',
};

/** Body of `PATCH /v1/me`. Other members are refused, since a caller who sends `role` expects it to have an effect. */
export const ProfileBody = Type.Object(
  {
    name: Type.Optional(Type.String({ description: '1 to 100 visible characters.', ...nameInCode })),
    locale: Type.Optional(
      Type.Union([Type.Enum([...locales]), Type.Null()], { description: 'null for the language of the browser.' }),
    ),
    picture: Type.Optional(
      Type.Union([Type.String(inCode({ format: 'uri', maxLength: 2048, pattern: httpsUrlPattern })), Type.Null()], {
        description:
          'An https address of a named host, 2048 characters at most; null: none. It is passed on, never fetched. `PUT /v1/me/picture` uploads one.',
      }),
    ),
    ...perStandardClaim((claim) =>
      Type.Optional(
        Type.Union([Type.String(profileRules[claim].keywords), Type.Null()], { description: descriptions[claim] }),
      ),
    ),
    attributes: Type.Optional(AttributeEdits),
  },
  { additionalProperties: false },
);

type ProfileEdit = Static<typeof ProfileBody>;

type ProfileDeps = LimitDeps & Pick<AttributeDeps, 'attributes' | 'claims'>;

/**
 * Changes a user's own data. Fields that are left out or the same are not written.
 * @returns whether there were others.
 * @throws {RequestError} `invalid_request` with one entry a field; `invalid_state` for a handle that is taken;
 * of an attribute, as {@link changeValues} says; `rate_limited`.
 */
export async function changeProfile(
  deps: ProfileDeps,
  { user_id }: Pick<Session, 'user_id'>,
  edit: ProfileEdit,
  caller: Caller,
): Promise<boolean> {
  const at = now(deps);
  const stored = await requireUser(deps, user_id);
  const changes = readEdit(edit, stored, { now: at, service: deps.config.brand.name, baseUrl: deps.config.baseUrl });
  const attributes =
    edit.attributes && changeValues(await deps.attributes.read(), stored.attributes, edit.attributes, 'person');
  // The log outlives the account, so it keeps the names of the fields and no personal data.
  const fields = [...Object.keys(changes), ...(attributes?.fields ?? [])];
  if (fields.length === 0) return false;
  await limitProfileChanges(deps, user_id);
  const { statement } = auditEvent({ action: 'user.changed', ...caller, target: user_id, after: { fields } }, at);
  const handle = changes.preferred_username;
  const elsewhere = handle ? await handlesElsewhere(deps.db, user_id, handle, at) : 0;
  const { taken, released } = handleWrites(deps.db, user_id, handle, at);
  const claims = claimsOfHandles(deps.db, user_id, { from: stored.preferred_username, to: handle }, at);
  const written = await deps.claims.holding(user_id, claims, (claim) =>
    deps.db.of(user_id).change({
      lock: lockUser(user_id),
      require: { handles: handle ? mayTakeHandle(user_id, handle, at, elsewhere) : undefined },
      run: {
        claim,
        taken,
        profile: Object.keys(changes).length === 0 ? undefined : setProfile(user_id, changes, at),
        attributes: attributesWrite(user_id, attributes, at),
        file: changes.picture === undefined ? undefined : deletePicture(user_id),
        event: statement,
        released,
      },
    }),
  );
  if (written.ok) return true;
  if (written.failed === 'taken' || isTakenClaim(written)) throw takenHandle();
  if (written.failed === 'attributes' || written.failed === 'claim') throw invalidState('changed');
  throw invalidFields([fieldProblem('preferred_username', { key: 'problem.profile.preferred_username.changes' })]);
}

/** Each change is a row of the audit log for good. @throws {RequestError} `rate_limited`. */
export function limitProfileChanges(deps: LimitDeps, user_id: string): Promise<void> {
  const limit = deps.config.limits.profileChangesPerHour;
  return windowLimit(deps, { name: 'profile-change', limit, windowSeconds: 3600 }).take(user_id);
}

/** @returns what differs from the stored profile. @throws {RequestError} `invalid_request`. */
function readEdit(
  edit: ProfileEdit,
  stored: User,
  context: { now: number; service: string; baseUrl: string },
): Partial<Profile> {
  const problems: FieldProblem[] = [];
  const changes: Partial<Profile> = {};
  function take(field: keyof Profile, value: string | null, problem: MessageDescriptor | undefined): void {
    if (value === stored[field]) return;
    // The stored one may come from a provider with other rules: only a new one is checked.
    if (problem) problems.push(fieldProblem(field, problem));
    else changes[field] = value;
  }
  const { name, locale, picture } = edit;
  if (name !== undefined) {
    if (displayNameProblem(name) !== undefined) problems.push(fieldProblem('name', { key: 'problem.name' }));
    else take('name', normalizeName(name), undefined);
  }
  if (locale !== undefined) take('locale', locale, undefined);
  if (picture !== undefined) take('picture', picture, picture === null ? undefined : pictureProblem(picture, context));
  for (const field of standardClaimNames) {
    const typed = edit[field];
    const { problem, normalize = (text: string) => text } = profileRules[field];
    if (typed === null) take(field, null, undefined);
    else if (typed !== undefined) {
      const found = problem(typed, context);
      take(field, found ? typed : normalize(typed), found);
    }
  }
  if (problems.length > 0) throw invalidFields(problems);
  return changes;
}

/** Only an upload makes a URL of ours: another one is a replaced picture, which is gone, or that of another user. */
const pictureProblem = (picture: string, { baseUrl }: { baseUrl: string }): MessageDescriptor | undefined =>
  URL.parse(picture)?.href.startsWith(new URL(`${picturesPath}/`, baseUrl).href)
    ? { key: 'problem.profile.picture' }
    : logoUrlProblem(picture);

export const CurrentUser = Type.Object({
  user_id: Type.String(),
  sub: Type.String(),
  email: Type.String(),
  email_verified: Type.Boolean(),
  name: nullable(Type.String()),
  picture: nullable(Type.String()),
  ...perStandardClaim(() => nullable(Type.String())),
  attributes: AttributeValues,
  role: Type.Enum([...roles]),
  locale: nullable(Type.String({ description: 'A language tag; null for the language of the browser.' })),
  created_at: Time,
  updated_at: Time,
  two_factor_enabled: Type.Boolean({ description: 'Whether an authenticator app is required at sign-in.' }),
  identities: Type.Array(Type.Object({ provider: Type.String(), email: nullable(Type.String()), linked_at: Time })),
  session: Type.Object({
    id: Type.String(),
    created_at: Time,
    expires_at: Time,
    auth_time: Time,
    amr: Type.Array(Type.String()),
    acr: Type.String(),
  }),
});

/** `GET /v1/me` (decisions §10): of it, the members that the schema names are sent. */
export async function currentUser(
  { db, attributes }: Pick<Deps, 'db'> & Pick<AttributeDeps, 'attributes'>,
  session: Session,
) {
  const { user_id } = session;
  const [user, totp, identities, register] = await Promise.all([
    requireUser({ db }, user_id),
    findTotp(db, user_id),
    listIdentities(db, user_id),
    attributes.read(),
  ]);
  return {
    ...user,
    sub: user_id,
    attributes: valuesByName(register, user.attributes, { forPerson: true }),
    email_verified: user.email_verified_at !== null,
    two_factor_enabled: totp !== undefined && totp.confirmed_at !== null,
    identities,
    session: { ...session, id: session.session_id, created_at: session.session_created_at },
  };
}
