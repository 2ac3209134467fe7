import { FailureCause } from '../../clients/failures.ts';
import { withinAllowed } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import { invalidGrant, invalidRequest, nothingAllowed } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import { endGrant } from '../grants/end-grant.ts';
import {
  type CodeRedemption,
  expireCode,
  findGrantByCode,
  findUsableGrant,
  type Grant,
  redeemCode,
} from '../grants/store.ts';
import { issueTokens, type TokenRequest, type TokenResponse } from './issue-tokens.ts';
import { codeChallengeOf, isCodeVerifier } from './pkce.ts';

/**
 * Redeems an authorization code (OAuth 2.1 §4.1.3): one conditional statement, whose WHERE is the list of checks.
 * @throws {RequestError} `invalid_request` for what is missing or malformed, `invalid_grant` for everything else.
 */
export async function authorizationCodeGrant(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'keys' | 'clients' | 'issuances' | 'mail'>,
  request: TokenRequest,
): Promise<TokenResponse> {
  const { client, form } = request;
  const { code, redirect_uri, code_verifier } = form;
  if (!code) throw invalidRequest('code is missing.');
  if (!redirect_uri) throw invalidRequest('redirect_uri is missing.');
  if (!code_verifier) throw invalidRequest('code_verifier is missing.');
  if (!isCodeVerifier(code_verifier)) throw invalidRequest('code_verifier is not 43 to 128 unreserved characters.');

  const redemption = {
    code_hash: digest(code),
    client_id: client.client_id,
    redirect_uri,
    code_challenge: codeChallengeOf(code_verifier),
    allowed_scopes: client.allowed_scopes,
  };
  const answer = (grant: Grant) => issueTokens(deps, client, grant, { asked: grant.scope, nonce: grant.nonce });
  const issued = await deps.issuances.issue(
    { key: redemption.code_hash, refresh_seq: 1 },
    (issuance_id) => redeemCode(deps.db, { ...redemption, issuance_id }, now(deps)),
    answer,
  );
  return issued ?? answer(await repeatedGrant(deps, redemption, request.address));
}

/**
 * Only now is it worth a read to learn why. A second use that is right in every other respect means that the code
 * leaked, so the grant ends (OAuth 2.1 §7.5.2), unless the first may have been left without an answer: then it is given
 * again, for as long as the code lives. A wrong verifier or client ends nothing: whoever holds just a stolen code could
 * otherwise sign people out.
 * @returns the grant whose tokens the client may not have got.
 */
async function repeatedGrant(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'clients' | 'issuances' | 'mail'>,
  redemption: CodeRedemption,
  address: string,
): Promise<Grant> {
  const grant = await findGrantByCode(deps.db, redemption.code_hash);
  const at = now(deps);
  const why = failureCodeOf(grant, redemption, at);
  // Also by a clock that may be wrong: a code that is lost costs a sign-in, one that lives again may be a stolen one.
  if (grant?.redeemed_at === null && grant.code_expires_at <= at) await expireCode(deps.db, grant.grant_id, at);
  const isReplay =
    grant !== undefined &&
    grant.redeemed_at !== null &&
    grant.client_id === redemption.client_id &&
    grant.redirect_uri === redemption.redirect_uri &&
    grant.code_challenge === redemption.code_challenge;
  // Whoever has used the refresh token had the answer to the code, whatever became of the answer to the refresh.
  const mayLackAnswer = isReplay && grant.revoked_at === null && grant.refresh_seq === 1;
  const isUnanswered = mayLackAnswer && (await deps.issuances.isUnanswered(grant));
  if (isUnanswered && grant.code_expires_at > now(deps)) {
    const served = await findUsableGrant(deps.db, grant.grant_id);
    if (served?.refresh_seq === 1 && served.revoked_at === null) return served;
  }
  if (isReplay && !isUnanswered) {
    await endGrant(deps, {
      grant,
      reason: 'code_replay',
      actor: `client:${grant.client_id}`,
      address,
    });
  }
  if (why.failure.code === 'grant_ended' && withinAllowed(grant?.scope ?? '', redemption.allowed_scopes) === '')
    throw nothingAllowed();
  throw invalidGrant(
    'The code is unknown, expired, used, or not for this client, redirect_uri and code_verifier.',
    why,
  );
}

/** More than the caller is told: only the client's owner reads it. A code of another client is unknown to them, too. */
function failureCodeOf(grant: Grant | undefined, redemption: CodeRedemption, at: number): FailureCause {
  if (grant?.client_id !== redemption.client_id) return new FailureCause('code_unknown');
  if (grant.redirect_uri !== redemption.redirect_uri) {
    return new FailureCause('code_redirect_uri', { sent: redemption.redirect_uri, registered: grant.redirect_uri });
  }
  if (grant.code_challenge !== redemption.code_challenge) return new FailureCause('code_verifier');
  if (grant.redeemed_at !== null) return new FailureCause('code_replayed');
  return new FailureCause(grant.code_expires_at <= at ? 'code_expired' : 'grant_ended');
}
