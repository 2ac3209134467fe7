import { lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import { eventWasKept } from '../../audit/store.ts';
import { now } from '../../platform/clock.ts';
import { UniqueViolation } from '../../platform/db/db.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { fieldProblem, invalidFields, notFound } from '../../platform/errors.ts';
import { displayNameProblem, normalizeName } from '../../platform/text/visible-text.ts';
import { type Passkey, passkeyExists, renamePasskey } from '../credentials/passkeys.store.ts';
import { passkeyId } from '../credentials/relying-party.ts';
import { limitSecurityChanges } from '../credentials/security-changes.ts';
import { failUnlessHeld, requireCurrentSession } from '../sessions/rotate-session-secret.ts';
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
 * @param typed called once it is known whose passkey it is: what is wrong with a name is nobody's business on
 * somebody else's.
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
  const { event_id, statement } = auditEvent(
    {
      action: 'passkey.renamed',
      actor: `user:${user_id}`,
      target: user_id,
      before: { passkey: passkeyId(passkey), name: passkey.name },
      after: { name },
      address,
      onlyIf: passkeyExists(passkey),
    },
    at,
  );
  const batch = deps.db.batch([
    lockUser(user_id),
    failUnlessHeld(session, event_id, at),
    statement,
    renamePasskey(passkey, name, eventWasKept(event_id)),
  ]);
  const results = await batch.catch(async (error: unknown) => {
    if (error instanceof UniqueViolation) await requireCurrentSession(deps, session);
    throw error;
  });
  if (results.at(-1)?.changes !== 1) throw notFound(); // removed this very moment
  return { ...passkey, name };
}
