import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { setLocale, setName, setPicture } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import type { Session } from '../../authentication/sessions/session.ts';
import { logoUrlProblem } from '../../clients/presentation.ts';
import { now } from '../../platform/clock.ts';
import type { Statement } from '../../platform/db/db.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { fieldProblem, invalidFields } from '../../platform/errors.ts';
import { locales } from '../../platform/i18n/translate.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { shapeProblems } from '../../platform/text/field-problems.ts';
import { displayNameProblem, normalizeName } from '../../platform/text/visible-text.ts';

/** Body of `PATCH /v1/me`. Other members are refused rather than ignored: whoever sends `role` believes that it did something. */
export const ProfileBody = Type.Object(
  {
    name: Type.Optional(Type.String({ description: '1 to 100 visible characters.' })),
    locale: Type.Optional(
      Type.Union([Type.Enum([...locales]), Type.Null()], { description: 'null: what the browser asks for.' }),
    ),
    picture: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'An https address of a named host, 2048 characters at most; null: none. It is told, never fetched.',
      }),
    ),
  },
  { additionalProperties: false },
);

const shape = Compile(ProfileBody);

type ProfileEdit = Static<typeof ProfileBody>;

/** @throws {RequestError} `invalid_request` with one entry a field. */
export function readProfileEdit(body: unknown): ProfileEdit {
  if (!shape.Check(body)) throw invalidFields(shapeProblems(shape.Errors(body)));
  return body;
}

/**
 * Changes what a person tells of themselves. What is the same already, or left out, is not written.
 * @returns their session as it would be read now.
 * @throws {RequestError} `invalid_request` with one entry a field; `rate_limited`.
 */
export async function changeProfile(
  deps: LimitDeps,
  session: Session,
  { name: typed, locale = session.locale, picture = session.picture }: ProfileEdit,
  address: string,
): Promise<Session> {
  const isNameless = typed !== undefined && displayNameProblem(typed) !== undefined;
  // What was stored came from a provider, perhaps by other rules: only what is typed is judged.
  const pictureProblem = picture === null || picture === session.picture ? undefined : logoUrlProblem(picture);
  const problems = [
    ...(isNameless ? [fieldProblem('name', { key: 'problem.name' })] : []),
    ...(pictureProblem ? [fieldProblem('picture', pictureProblem)] : []),
  ];
  if (problems.length > 0) throw invalidFields(problems);
  const name = typed === undefined ? session.name : normalizeName(typed);
  const at = now(deps);
  const { user_id } = session;
  const changes: [field: string, Statement][] = [];
  if (name !== null && name !== session.name) changes.push(['name', setName(user_id, name, at)]);
  if (locale !== session.locale) changes.push(['locale', setLocale(user_id, locale, at)]);
  if (picture !== session.picture) changes.push(['picture', setPicture(user_id, picture, at)]);
  if (changes.length === 0) return session;
  await profileChanges(deps).take(user_id); // each is a row of the audit log for good
  // The log outlives the account, so it keeps which fields were changed and not what a person is called.
  const fields = changes.map(([field]) => field);
  const { statement } = auditEvent(
    { action: 'user.changed', actor: `user:${user_id}`, target: user_id, after: { fields }, address },
    at,
  );
  await deps.db.batch([...changes.map(([, write]) => write), statement]);
  return { ...session, name, locale, picture, user_updated_at: at };
}

const profileChanges = (deps: LimitDeps) =>
  windowLimit(deps, {
    name: 'profile-change',
    limit: deps.config.limits.profileChangesPerHour,
    windowSeconds: 3600,
  });
