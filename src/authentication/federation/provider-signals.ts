import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { invalidFields, notFound } from '../../platform/errors.ts';
import { digest, newSecret } from '../../platform/ids.ts';
import { updateProvider } from '../credentials/providers.store.ts';
import { type ListedProvider, listedOf } from './list-providers.ts';
import { type ProviderDeps, refuseNewAdministrator, requireStored, targetOf } from './manage-provider.ts';
import { termProblems } from './provider-rules.ts';

/**
 * Lets a provider push security events, with a new secret: the one before ends at once.
 * @param audience `aud` of the events; null: the `client_id`; undefined: as it is.
 * @throws {RequestError} `not_found`; `invalid_state` for one of the settings; `invalid_request`; `access_denied` for a new administrator.
 */
export async function takeSignals(
  deps: ProviderDeps,
  caller: Caller,
  id: string,
  audience: string | null | undefined,
): Promise<ListedProvider & { signals_secret: string }> {
  const before = await requireStored(deps, id);
  const problems = termProblems({ signals_audience: audience });
  if (problems.length > 0) throw invalidFields(problems);
  await refuseNewAdministrator(deps, caller);
  const signals_secret = newSecret();
  const to = {
    signals_secret_hash: digest(signals_secret),
    signals_audience: audience === undefined ? before.signals_audience : audience || null,
  };
  const { signals_audience } = to;
  const event = auditEvent(
    {
      ...{ action: 'provider.edited', ...caller, target: targetOf(id) },
      before: { has_signals_secret: before.signals_secret_hash !== null, signals_audience: before.signals_audience },
      after: { has_signals_secret: true, signals_audience },
    },
    now(deps),
  );
  const done = await deps.db.shared.change({
    run: { provider: mustChange(updateProvider(before, to)), event: event.statement },
  });
  deps.providers.forget();
  if (!done.ok) throw notFound();
  return { ...listedOf(deps, { ...before, ...to }), signals_secret };
}
