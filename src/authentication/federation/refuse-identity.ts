import { type RefusalReason, unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { type ErrorCode, RequestError } from '../../platform/errors.ts';
import { inEnglish, type MessageKey } from '../../platform/i18n/translate.ts';
import type { Provider } from '../credentials/providers.ts';

/** From where, with which provider, and where a page leads on. */
export type CallbackContext = { provider: Provider; address: string; back: string };

type FederationKey = Extract<MessageKey, `federation.${string}`>;

export type IdentityRefusal = {
  code: ErrorCode;
  userMessage: FederationKey;
  /** For the log. */
  reason: RefusalReason;
  /** For the log: what exactly the upstream has got wrong, in our words or the library's code. */
  problem?: string;
  user_id?: string;
};

/**
 * Says no to what came back from an upstream, and why in the log.
 * @returns the refusal, for the caller to throw.
 */
export async function refuseIdentity(
  deps: LimitDeps,
  context: CallbackContext,
  identityRefusal: IdentityRefusal,
): Promise<RequestError> {
  const { provider, address, back } = context;
  const { code, userMessage, reason, problem, user_id } = identityRefusal;
  const detail = { provider: provider.id, ...(problem === undefined ? {} : { problem }) };
  const event = { action: 'session.refused', target: user_id, reason, detail, address } as const;
  await deps.db.change({ run: { event: unauthenticatedEvent(deps, event) } });
  // A label may have any letters; an error_description has ASCII alone, which an id is.
  return new RequestError(code, inEnglish({ key: userMessage, values: { provider: provider.id } }), {
    userMessage: { key: userMessage, values: { provider: provider.label } },
    details: code === 'invalid_state' ? { current_status: reason } : {},
    cause: problem === undefined ? reason : `${reason}: ${problem}`,
    back,
  });
}
