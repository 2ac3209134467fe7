import { auditEvent } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mayConflict, mustChange } from '../platform/db/change.ts';
import type { Deps, StoreDeps } from '../platform/deps.ts';
import { accessDenied, RequestError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { EntitlementWrite } from './entitlement.ts';
import type { ServiceCredential } from './service-credentials/service-credential.ts';
import { findConflict, insertVersion, upsertEntitlement } from './store.ts';

export type Writer = { credential: ServiceCredential; address: string };
type WriteResult = Pick<EntitlementWrite, 'user_id' | 'product' | 'version' | 'status'> & { applied: boolean };

/**
 * Applies a write of a back end (decisions §12).
 * @returns `applied: false` for an event that was applied before, whatever else the retry says.
 * @throws {RequestError} `access_denied` for a product that is not the credential's; `unknown_user`; `stale_version`.
 */
export async function writeEntitlement(deps: StoreDeps, by: Writer, write: EntitlementWrite): Promise<WriteResult> {
  const { credential_id, products } = by.credential;
  if (!products.includes(write.product)) throw accessDenied('This credential is not allowed to write this product.');
  const at = now(deps);
  const { user_id, product, version, status } = write;
  const { statement } = auditEvent(
    {
      action: 'entitlement.written',
      actor: `service:${credential_id}`,
      target: user_id,
      after: { product, plan: write.plan, status, version },
      address: by.address,
    },
    at,
  );
  const done = await deps.db.of(user_id).change({
    run: {
      entitlement: mustChange(upsertEntitlement(write, newId('ew'), at)),
      version: mayConflict(insertVersion(write, credential_id, at)),
      event: statement,
    },
  });
  return done.ok ? { user_id, product, version, status, applied: true } : explain(deps, write);
}

async function explain(deps: Pick<Deps, 'db'>, write: EntitlementWrite): Promise<WriteResult> {
  const { user_id, product } = write;
  const found = await findConflict(deps.db, write);
  if (!found) throw new RequestError('unknown_user', 'There is no user with this user_id. Nothing was changed.');
  if (found.event_version !== null) {
    return { user_id, product, version: found.event_version, status: found.event_status!, applied: false };
  }
  throw new RequestError('stale_version', 'The stored version is the same or higher. Nothing was changed.', {
    details: { stored_version: found.stored_version },
  });
}
