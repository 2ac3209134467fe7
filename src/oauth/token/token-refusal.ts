import type { Failure, FailureCode, FailureDetail } from '../../clients/failures.ts';
import { RequestError } from '../../platform/errors.ts';

/** A refusal with a diagnosis that only the owner of the client may read. */
export class TokenRefusal extends RequestError {
  readonly diagnosis: Failure;
  constructor(code: 'invalid_grant' | 'invalid_scope' | 'invalid_target', description: string, diagnosis: Failure) {
    super(code, description);
    this.diagnosis = diagnosis;
  }
}

export const invalidGrant = (description: string, code: FailureCode, detail?: FailureDetail) =>
  new TokenRefusal('invalid_grant', description, { code, detail: detail && (() => detail) });

/** @param sent the scope of the request, if there was one. */
export const invalidScope = (description: string, sent = '') =>
  new TokenRefusal('invalid_scope', description, {
    code: 'invalid_scope',
    detail: () => ({ sent }),
  });

export const invalidTarget = (description: string, sent: readonly string[]) =>
  new TokenRefusal('invalid_target', description, {
    code: 'invalid_target',
    detail: () => ({ sent: sent.join(' '), description }),
  });

/** A token without any scope would be of no use, and is not issued. */
export const nothingAllowed = (sent?: string) =>
  invalidScope('The client is no longer allowed any of the requested scopes.', sent);

/** For the owner of the client. */
export const diagnose = (error: RequestError): Failure => {
  if (error.code === 'invalid_dpop_proof' || error.code === 'use_dpop_nonce')
    return { code: 'dpop_proof', detail: () => ({ description: error.message }) };
  return error instanceof TokenRefusal
    ? error.diagnosis
    : { code: 'request', detail: () => ({ description: error.message }) };
};
