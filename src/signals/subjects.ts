import { type AddressDeps, findUser, findUserByEmail } from '../accounts/statements.ts';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import { type FieldProblem, invalidFields, invalidState, notFound } from '../platform/errors.ts';
import { newUserId } from '../platform/ids.ts';
import { Type } from '../platform/schema.ts';
import { isUserOf } from './clients.store.ts';
import type { Receiver } from './manage-stream.ts';
import { excludeUser, includeUser, isExcluded } from './store.ts';
import { requireStreamOf, StreamIdText } from './stream.ts';

/** Users whom a receiver may leave out, in each part of the store. */
const maxExcluded = 10_000;

/** SSF 1.0 §8.1.3. Of the formats of RFC 9493 those that name a person. */
export const SubjectBody = Type.Object({
  stream_id: StreamIdText,
  subject: Type.Object(
    {
      format: Type.String({ maxLength: 100, description: '`iss_sub` or `email`; no other one is supported.' }),
      iss: Type.Optional(Type.String({ maxLength: 2000, description: 'With `iss_sub`: our issuer.' })),
      sub: Type.Optional(Type.String({ maxLength: 255, description: 'With `iss_sub`: `sub` of the user.' })),
      email: Type.Optional(
        Type.String({ maxLength: 254, description: 'With `email`: the address that the user has now.' }),
      ),
    },
    {
      description:
        'A user, as `{"format": "iss_sub", "iss": …, "sub": …}` or `{"format": "email", "email": …}` (RFC 9493). What is kept is the user, also when the address changes.',
    },
  ),
  verified: Type.Optional(Type.Boolean({ description: 'Without effect.' })),
});
type Subject = { format: string; iss?: string; sub?: string; email?: string };
type Wanted = { stream_id: string; subject: Subject };

type SubjectDeps = Pick<Deps, 'db' | 'clock' | 'config'> & AddressDeps;

/** What is wrong with the subject as such. */
function problemOf({ format, iss, sub, email }: Subject, issuer: string): FieldProblem | undefined {
  if (format === 'email') return email === undefined ? { path: 'subject/email', message: 'Is missing.' } : undefined;
  if (format !== 'iss_sub') return { path: 'subject/format', message: 'Must be iss_sub or email.' };
  if (iss !== issuer) return { path: 'subject/iss', message: `Must be ${issuer}.` };
  return sub === undefined ? { path: 'subject/sub', message: 'Is missing.' } : undefined;
}

/** @throws {RequestError} `not_found` for a stream of another or an unknown user; `invalid_request` for another kind of subject. */
async function readSubject(deps: SubjectDeps, { id, client_id }: Receiver, { stream_id, subject }: Wanted) {
  const stream = await requireStreamOf(deps, id, stream_id);
  const problem = problemOf(subject, deps.config.baseUrl);
  if (problem) throw invalidFields([problem]);
  const { format, sub = '', email = '' } = subject;
  const byAddress = format === 'email';
  const user = await (byAddress ? findUserByEmail(deps, email) : findUser(deps.db, sub));
  // A client learns of no user but its own whether there is one, and of these no address that they have not let it read. It can guess
  // addresses, so the same is asked about one that no user has.
  const scope = byAddress ? 'email' : undefined;
  const user_id = user?.user_id ?? (byAddress ? newUserId(deps.placement.bucketOfEmail(email)) : sub);
  const mayKnow =
    client_id === null || (await isUserOf(deps.db.of(user_id), client_id, { user_id, at: now(deps), scope }));
  if (!user || !mayKnow) throw notFound();
  return { stream_id: stream.stream_id, user_id: user.user_id };
}

/** Signals about a user who was removed are sent again. All others are sent without it. @throws {RequestError} see {@link readSubject}. */
export async function addSubject(deps: SubjectDeps, by: Receiver, wanted: Wanted): Promise<void> {
  const { stream_id, user_id } = await readSubject(deps, by, wanted);
  await deps.db.of(user_id).run(includeUser(stream_id, user_id));
}

/** No signal about the user from now on. @throws {RequestError} see {@link readSubject}; `invalid_state` if that is too many. */
export async function removeSubject(deps: SubjectDeps, by: Receiver, wanted: Wanted): Promise<void> {
  const { stream_id, user_id } = await readSubject(deps, by, wanted);
  const part = deps.db.of(user_id);
  await part.run(excludeUser(stream_id, user_id, maxExcluded));
  if (!(await isExcluded(part, stream_id, user_id))) throw invalidState('too_many_excluded');
}
