import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import type { MailDeps } from '../../platform/deps.ts';
import type { Edited } from '../../platform/edited.ts';
import { fieldProblem, invalidFields, notFound, refusal } from '../../platform/errors.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';
import {
  attachmentOf,
  claimOfPasskey,
  deletePasskey,
  listPasskeys,
  type Passkey,
  renamePasskey,
} from '../credentials/passkeys.store.ts';
import { hasAnotherSignInMethod, limitSecurityChanges } from '../credentials/sign-in-methods.ts';
import { passkeyId } from '../credentials/webauthn.ts';
import type { Deps } from '../deps.ts';
import { endSecondSteps } from '../sessions/second-steps.ts';
import { changeOwnAccount, changeOwnClaims, type Owner } from '../sessions/session.ts';

export const passkeyRecord = (passkey: Passkey) => ({
  id: passkeyId(passkey),
  name: passkey.name,
  synced: passkey.backed_up_at !== null,
  created_at: passkey.created_at,
  last_used_at: passkey.last_used_at,
});

/** @throws {RequestError} `not_found` for an unknown id and for another user's, alike. */
async function requireOwnPasskey(deps: Pick<Deps, 'db'>, user_id: string, id: string): Promise<Passkey> {
  const passkey = (await listPasskeys(deps.db, user_id)).find((one) => passkeyId(one) === id);
  if (!passkey) throw notFound();
  return passkey;
}

/**
 * @returns the name as it is stored.
 * @throws {RequestError} `invalid_request` for a name with invisible characters, an empty one, or one too long.
 */
export function readName(name: string): string {
  if (displayNameProblem(name)) throw invalidFields([fieldProblem('name', { key: 'problem.name' })]);
  return normalizeName(name);
}

/**
 * @param readBody called for the user's own passkey only, so that another user's is `not_found` whatever the body says.
 * @throws {RequestError} `not_found`; as {@link readName}; `login_required` if the session has ended.
 */
export async function renameOwnPasskey(
  deps: MailDeps,
  owner: Owner,
  id: string,
  readBody: () => string,
): Promise<Edited<Passkey>> {
  const { user_id } = owner.session;
  const passkey = await requireOwnPasskey(deps, user_id, id);
  const name = readName(readBody());
  if (name === passkey.name) return { after: passkey, isChanged: false };
  await limitSecurityChanges(deps, user_id);
  const failed = await changeOwnAccount(deps, owner, {
    action: 'passkey.renamed',
    before: { passkey: id, name: passkey.name },
    after: { name },
    run: { passkey: mustChange(renamePasskey(passkey, name)) },
  });
  if (failed) throw notFound(); // removed meanwhile
  return { after: { ...passkey, name }, isChanged: true };
}

/**
 * Removes a passkey and notifies its user by mail. All the user's pending sign-ins have to start again.
 * @throws {RequestError} `not_found`; `invalid_state` for the last way to sign in; `login_required` if the session has
 * ended.
 */
export async function removePasskey(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'mail' | 'claims'>,
  owner: Owner,
  id: string,
): Promise<void> {
  const { user_id } = owner.session;
  const passkey = await requireOwnPasskey(deps, user_id, id);
  const claims = { givenUp: [claimOfPasskey(deps.db, passkey.credential_id)] };
  const failed = await changeOwnClaims(deps, owner, claims, {
    action: 'passkey.removed',
    before: { passkey: id, name: passkey.name, attachment: attachmentOf(passkey) },
    mail: 'passkey_removed',
    values: { passkey: passkey.name },
    require: { anotherMethod: hasAnotherSignInMethod(deps.config, user_id) },
    run: { passkey: mustChange(deletePasskey(passkey)), secondSteps: endSecondSteps(user_id, now(deps)) },
  });
  if (!failed) return;
  await requireOwnPasskey(deps, user_id, id);
  throw refusal(
    'invalid_state',
    { key: 'passkey.problem.last_sign_in_method' },
    { details: { current_status: 'last_way_in' } },
  );
}
