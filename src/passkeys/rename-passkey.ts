import { auditEvent } from '../audit/audit.ts';
import { eventWasKept } from '../audit/store.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { fieldProblem, invalidFields, notFound } from '../errors.ts';
import { displayNameProblem } from '../lib/display-name.ts';
import { requireOwnPasskey } from './own-passkey.ts';
import { passkeyId } from './relying-party.ts';
import { isThere, type Passkey, renamePasskey } from './store.ts';

/** @throws {RequestError} `invalid_request` for a name that cannot be read. */
export function checkName(name: string): void {
  if (displayNameProblem(name)) throw invalidFields([fieldProblem('name', { key: 'problem.name' })]);
}

type PasskeyChange = { user_id: string; id: string; address: string };

/**
 * @param readName called once it is known whose passkey it is: what is wrong with a name is nobody's business on
 * somebody else's.
 * @throws {RequestError} `not_found`; `invalid_request` for a name that cannot be read.
 */
export async function renameOwnPasskey(
  deps: Deps,
  { user_id, id, address }: PasskeyChange,
  readName: () => string,
): Promise<Passkey> {
  const passkey = await requireOwnPasskey(deps, user_id, id);
  const name = readName();
  checkName(name);
  const trimmed = name.trim();
  if (trimmed === passkey.name) return passkey;
  const { event_id, statement } = auditEvent(
    {
      action: 'passkey.renamed',
      actor: `user:${user_id}`,
      target: user_id,
      before: { passkey: passkeyId(passkey), name: passkey.name },
      after: { name: trimmed },
      address,
      onlyIf: isThere(passkey),
    },
    now(deps),
  );
  const [, renamed] = await deps.db.batch([statement, renamePasskey(passkey, trimmed, eventWasKept(event_id))]);
  if (renamed?.changes !== 1) throw notFound(); // removed this very moment
  return { ...passkey, name: trimmed };
}
