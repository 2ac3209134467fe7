import assert from 'node:assert/strict';
import { TokenError, type TokenErrorCode } from '../src/index.ts';

const statuses = {
  invalid_request: 400,
  missing_token: 401,
  invalid_token: 401,
  invalid_dpop_proof: 401,
  insufficient_user_authentication: 401,
  insufficient_scope: 403,
  unavailable: 503,
};

const parameter =
  '(error|error_description|scope|acr_values|max_age|resource_metadata|algs)="[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]+"';
const challenge = `(Bearer|DPoP) realm="[^"]+"(, ${parameter})*`;

/** Asserts a refusal: its code and status, and a challenge in which nothing of the requester's can be. */
export async function refusal(verifying: Promise<unknown>, code: TokenErrorCode, text?: RegExp): Promise<TokenError> {
  const error = await verifying.then(
    (claims) => assert.fail(`accepted: ${JSON.stringify(claims)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TokenError, String(error));
  assert.equal(error.code, code, error.message);
  assert.equal(error.status, statuses[code]);
  assert.match(error.message, text ?? /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  assert.deepEqual(error.body, { error: code, error_description: error.message });
  assert.equal(error.headers['cache-control'], 'no-store');
  assert.equal(error.headers['www-authenticate'], error.wwwAuthenticate);
  if (code === 'unavailable') assert.equal(error.wwwAuthenticate, undefined);
  else {
    assert.match(error.wwwAuthenticate ?? '', new RegExp(`^${challenge}(, ${challenge})?$`));
  }
  return error;
}
