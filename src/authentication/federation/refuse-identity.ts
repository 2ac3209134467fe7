import { type RefusalReason, unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { type ErrorCode, type ExitLink, RequestError } from '../../platform/errors.ts';
import { inEnglish } from '../../platform/i18n/translate.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { addressLimit } from '../../platform/limits/failure-limits.ts';
import type { Provider } from '../credentials/providers.ts';
import { countSignIn } from '../sessions/sign-in-count.ts';

/** A request that came back from a provider. `mode`: what it was to do; unknown of one that we did not start, or no more. */
export type CallbackContext = {
  provider: Provider;
  address: string;
  mode: 'sign_in' | 'confirm' | 'link' | undefined;
  /** The button on the page of the error. */
  exit: ExitLink;
};

export type IdentityRefusal = {
  code: ErrorCode;
  /** For the log; the user reads the message with its name. */
  reason: Exclude<RefusalReason, 'account_disabled' | 'passkey_refused' | 'wrong_password' | 'wrong_mail_code'>;
  /** For the log: what exactly is wrong with the upstream's answer, in our words or as the library's code. */
  problem?: string;
  user_id?: string;
};

/** Records why an upstream's answer is refused. @returns the refusal, for the caller to throw. */
export async function refuseIdentity(
  deps: LimitDeps,
  { provider, address, mode, exit }: CallbackContext,
  { code, reason, problem, user_id }: IdentityRefusal,
): Promise<RequestError> {
  const detail = { provider: provider.id, ...(problem === undefined ? {} : { problem }) };
  countSignIn(['fed'], reason);
  const event = { action: 'session.refused', target: user_id, reason, detail, address } as const;
  await deps.db.near(addressKey(address)).change({ run: { event: unauthenticatedEvent(deps, event) } });
  // Users cannot tell a state that was used from one that is unknown.
  const isOver = reason === 'state_used' || mode === undefined;
  const key = isOver ? 'federation.state_unknown' : (`federation.${reason}` as const);
  const values = { provider: provider.label };
  // A label may have any letters; an error_description has ASCII only, as an id does.
  return new RequestError(code, inEnglish({ key, values: { provider: provider.id } }), {
    userMessage: { key, values },
    title: isOver ? { key: 'error.sign_in_over' } : { key: `error.provider.${mode}`, values },
    details: code === 'invalid_state' ? { current_status: reason } : {},
    cause: problem === undefined ? reason : `${reason}: ${problem}`,
    exit,
  });
}

/** Each code that is sent to a callback, real or made up, costs the upstream a request. */
const failures = (deps: LimitDeps) =>
  addressLimit(deps, { name: 'federation-failed', limit: deps.config.limits.providerFailures, windowSeconds: 600 });

/** Before a request to an upstream. @throws {RequestError} `rate_limited`. */
export const checkFailures = (deps: LimitDeps, address: string): Promise<void> => failures(deps).check(address);

/** After a request to an upstream that identified no user. */
export const countFailure = (deps: LimitDeps, address: string): Promise<void> => failures(deps).failed(address);
