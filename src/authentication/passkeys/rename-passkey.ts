import { lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { fieldProblem, invalidFields, notFound } from '../../platform/errors.ts';
import { displayNameProblem, normalizeName } from '../../platform/text/visible-text.ts';
import { type Passkey, renamePasskey } from '../credentials/passkeys.store.ts';
import { passkeyId } from '../credentials/relying-party.ts';
import { limitSecurityChanges } from '../credentials/security-changes.ts';
import { isCurrentSession, sessionRefusal } from '../sessions/rotate-session-secret.ts';
import type { Session } from '../sessions/session.ts';
import { requireOwnPasskey } from './own-passkey.ts';

/**
 * @returns the name as it is stored.
 * @throws {RequestError} `invalid_request` for a name that cannot be read.
 */
export function readName(name: string): string {
  if (displayNameProblem(name)) throw invalidFields([fieldProblem('name', { key: 'problem.name' })]);
  return normalizeName(name);
}

type PasskeyChange = { session: Session; id: string; address: string };

/**
 * @param typed called after the passkey is known to be the user's own, so that a foreign one is `not_found` whatever the name.
 * @throws {RequestError} `not_found`; `invalid_request` for a name that cannot be read; `login_required` if the session
 * has ended meanwhile.
 */
export async function renameOwnPasskey(
  deps: LimitDeps,
  { session, id, address }: PasskeyChange,
  typed: () => string,
): Promise<Passkey> {
  const { user_id } = session;
  const passkey = await requireOwnPasskey(deps, user_id, id);
  const name = readName(typed());
  if (name === passkey.name) return passkey;
  await limitSecurityChanges(deps, user_id);
  const at = now(deps);
  const { statement } = auditEvent(
    {
      action: 'passkey.renamed',
      actor: `user:${user_id}`,
      target: user_id,
      before: { passkey: passkeyId(passkey), name: passkey.name },
      after: { name },
      address,
    },
    at,
  );
  const done = await deps.db.change({
    lock: lockUser(user_id),
    require: { session: isCurrentSession(session) },
    run: { passkey: mustChange(renamePasskey(passkey, name)), event: statement },
  });
  if (done.ok) return { ...passkey, name };
  throw done.failed === 'session' ? await sessionRefusal(deps, session) : notFound(); // removed meanwhile
}
