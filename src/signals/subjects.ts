import { findUser } from '../accounts/statements.ts';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import { type FieldProblem, invalidFields, invalidState, notFound } from '../platform/errors.ts';
import { Type } from '../platform/schema.ts';
import { isUserOf } from './clients.store.ts';
import type { Receiver } from './manage-stream.ts';
import { excludeUser, includeUser, isExcluded } from './store.ts';
import { requireStreamOf, StreamIdText } from './stream.ts';

/** Users whom a receiver may leave out, in each part of the store. */
const maxExcluded = 10_000;

/** SSF 1.0 §8.1.3. Only `iss_sub`: an address may belong to another person tomorrow. */
export const SubjectBody = Type.Object({
  stream_id: StreamIdText,
  subject: Type.Object(
    {
      format: Type.String({ maxLength: 100, description: '`iss_sub`; no other one is supported.' }),
      iss: Type.Optional(Type.String({ maxLength: 2000, description: 'Our issuer.' })),
      sub: Type.Optional(Type.String({ maxLength: 255, description: '`sub` of the user.' })),
    },
    { description: 'A user, as `{"format": "iss_sub", "iss": …, "sub": …}` (RFC 9493).' },
  ),
  verified: Type.Optional(Type.Boolean({ description: 'Without effect.' })),
});
type Wanted = { stream_id: string; subject: { format: string; iss?: string; sub?: string } };

type SubjectDeps = Pick<Deps, 'db' | 'clock' | 'config'>;

/** @throws {RequestError} `not_found` for a stream of another or an unknown user; `invalid_request` for another kind of subject. */
async function readSubject(deps: SubjectDeps, by: Receiver, { stream_id, subject }: Wanted) {
  const stream = await requireStreamOf(deps, by.id, stream_id);
  const problems: FieldProblem[] = [];
  const { format, iss, sub } = subject;
  if (format !== 'iss_sub') problems.push({ path: 'subject/format', message: 'Must be iss_sub.' });
  else if (iss !== deps.config.baseUrl)
    problems.push({ path: 'subject/iss', message: `Must be ${deps.config.baseUrl}.` });
  else if (sub === undefined) problems.push({ path: 'subject/sub', message: 'Is missing.' });
  if (problems.length > 0 || sub === undefined) throw invalidFields(problems);
  if (!(await findUser(deps.db, sub))) throw notFound();
  const { client_id } = by;
  // A client learns of no user but its own whether there is one.
  if (client_id !== null && !(await isUserOf(deps.db.of(sub), client_id, { user_id: sub, at: now(deps) })))
    throw notFound();
  return { stream_id: stream.stream_id, user_id: sub };
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
