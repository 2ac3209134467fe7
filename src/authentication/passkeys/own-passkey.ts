import type { Deps } from '../../platform/deps.ts';
import { notFound } from '../../platform/errors.ts';
import { listPasskeys, type Passkey } from '../credentials/passkeys.store.ts';
import { passkeyId } from '../credentials/relying-party.ts';

/** @throws {RequestError} `not_found` for an unknown id and for somebody else's, alike. */
export async function requireOwnPasskey(deps: Pick<Deps, 'db'>, user_id: string, id: string): Promise<Passkey> {
  const passkey = (await listPasskeys(deps.db, user_id)).find((one) => passkeyId(one) === id);
  if (!passkey) throw notFound();
  return passkey;
}

/** As its person may see it. */
export const passkeyRecord = (passkey: Passkey) => ({
  id: passkeyId(passkey),
  name: passkey.name,
  synced: passkey.backed_up_at !== null,
  created_at: passkey.created_at,
  last_used_at: passkey.last_used_at,
});
