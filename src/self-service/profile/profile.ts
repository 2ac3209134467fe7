import Type, { type Static } from 'typebox';
import { setLocale, setName, setPicture } from '../../accounts/users.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { findTotp, listIdentities } from '../../authentication/credentials/sign-in-methods.ts';
import type { Session } from '../../authentication/sessions/session.ts';
import { logoUrlProblem } from '../../clients/presentation.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { fieldProblem, invalidFields } from '../../platform/errors.ts';
import { nullable, Time } from '../../platform/http/operation.ts';
import { locales } from '../../platform/i18n/translate.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';

/** Body of `PATCH /v1/me`. Other members are refused, since a caller who sends `role` expects it to have an effect. */
export const ProfileBody = Type.Object(
  {
    name: Type.Optional(Type.String({ description: '1 to 100 visible characters.' })),
    locale: Type.Optional(
      Type.Union([Type.Enum([...locales]), Type.Null()], { description: 'null for the language of the browser.' }),
    ),
    picture: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'An https address of a named host, 2048 characters at most; null: none. It is passed on, never fetched.',
      }),
    ),
  },
  { additionalProperties: false },
);

type ProfileEdit = Static<typeof ProfileBody>;

/**
 * Changes a user's own data. Fields that are left out or the same are not written.
 * @returns the session as it would be read now.
 * @throws {RequestError} `invalid_request` with one entry a field; `rate_limited`.
 */
export async function changeProfile(
  deps: LimitDeps,
  session: Session,
  { name: typed, locale = session.locale, picture = session.picture }: ProfileEdit,
  caller: Caller,
): Promise<Session> {
  const isNameless = typed !== undefined && displayNameProblem(typed) !== undefined;
  // The stored one may come from a provider with other rules: only a new one is checked.
  const pictureProblem = picture === null || picture === session.picture ? undefined : logoUrlProblem(picture);
  const problems = [
    ...(isNameless ? [fieldProblem('name', { key: 'problem.name' })] : []),
    ...(pictureProblem ? [fieldProblem('picture', pictureProblem)] : []),
  ];
  if (problems.length > 0) throw invalidFields(problems);
  const name = typed === undefined ? session.name : normalizeName(typed);
  const at = now(deps);
  const { user_id } = session;
  const changes: [field: string, Sql][] = [];
  if (name !== null && name !== session.name) changes.push(['name', setName(user_id, name, at)]);
  if (locale !== session.locale) changes.push(['locale', setLocale(user_id, locale, at)]);
  if (picture !== session.picture) changes.push(['picture', setPicture(user_id, picture, at)]);
  if (changes.length === 0) return session;
  const limit = deps.config.limits.profileChangesPerHour;
  // Each is a row of the audit log for good.
  await windowLimit(deps, { name: 'profile-change', limit, windowSeconds: 3600 }).take(user_id);
  // The log outlives the account, so it keeps the names of the fields and no personal data.
  const fields = changes.map(([field]) => field);
  const { statement } = auditEvent({ action: 'user.changed', ...caller, target: user_id, after: { fields } }, at);
  await deps.db.change({ run: { fields: changes.map(([, write]) => write), event: statement } });
  return { ...session, name, locale, picture, user_updated_at: at };
}

export const CurrentUser = Type.Object({
  user_id: Type.String(),
  sub: Type.String(),
  email: Type.String(),
  email_verified: Type.Boolean(),
  name: nullable(Type.String()),
  picture: nullable(Type.String()),
  role: Type.Enum(['user', 'admin']),
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
export async function currentUser({ db }: Pick<Deps, 'db'>, session: Session) {
  const { user_id } = session;
  const [totp, identities] = await Promise.all([findTotp(db, user_id), listIdentities(db, user_id)]);
  return {
    ...session,
    sub: user_id,
    email_verified: session.email_verified_at !== null,
    created_at: session.user_created_at,
    updated_at: session.user_updated_at,
    two_factor_enabled: totp !== undefined && totp.confirmed_at !== null,
    identities,
    session: { ...session, id: session.session_id, created_at: session.session_created_at },
  };
}
