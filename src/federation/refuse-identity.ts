import { auditEvent } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { type ErrorCode, RequestError } from '../errors.ts';
import { inEnglish, type MessageKey } from '../i18n/translate.ts';
import { mayRecord } from './limits.ts';
import type { Provider } from './provider.ts';

/** From where, with which provider, and where a page leads on. */
export type Trip = { provider: Provider; address: string; back: string };

type FederationKey = Extract<MessageKey, `federation.${string}`>;

export type Why = {
  code: ErrorCode;
  say: FederationKey;
  /** For the log. */
  reason: string;
  /** For the log: what exactly the upstream has got wrong, in our words or the library's code. */
  problem?: string;
  user_id?: string;
};

/**
 * Says no to what came back from an upstream, and why in the log.
 * @returns the refusal, for the caller to throw.
 */
export async function refuseIdentity(deps: Deps, trip: Trip, why: Why): Promise<RequestError> {
  const { provider, address, back } = trip;
  const { code, say, reason, problem, user_id } = why;
  const { statement } = auditEvent(
    {
      action: 'session.refused',
      actor: user_id === undefined ? 'system' : `user:${user_id}`,
      target: user_id,
      reason,
      after: { provider: provider.id, ...(problem === undefined ? {} : { problem }) },
      address,
    },
    now(deps),
  );
  if (await mayRecord(deps, address)) await deps.db.batch([statement]);
  // A label may have any letters; an error_description has ASCII alone, which an id is.
  return new RequestError(code, inEnglish({ key: say, values: { provider: provider.id } }), {
    say: { key: say, values: { provider: provider.label } },
    details: code === 'invalid_state' ? { current_status: reason } : {},
    cause: problem === undefined ? reason : `${reason}: ${problem}`,
    back,
  });
}
