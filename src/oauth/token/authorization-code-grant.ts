import { hash } from 'node:crypto';
import { usableScopes, withinAllowed } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import type { Part } from '../../platform/db/db.ts';
import { invalidRequest } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { digest } from '../../platform/ids.ts';
import { Type } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';
import {
  type CodeRedemption,
  findGrantByCode,
  findReissuable,
  type Grant,
  type IssuableGrant,
} from '../grants/grant.store.ts';
import { revokeGrant } from '../grants/grants.ts';
import { replayAlert } from '../grants/replay-alert.ts';
import { expireGrant, redeemCode } from '../grants/store.ts';
import { testRedirectUri } from '../grants/test-grants.store.ts';
import { partyText } from '../grants/uses.ts';
import { issueTokens } from './issue-tokens.ts';
import { bindsRefreshTokens, hasKeyOf } from './refresh-token.ts';
import { readResources, requireTarget } from './resources.ts';
import { invalidGrant, nothingAllowed } from './token-refusal.ts';
import { type GrantType, needed, type TokenRequest, type TokenResponse } from './token-request.ts';
import { nextStatusRef } from './token-status.ts';

/** 43 to 128 unreserved characters (RFC 7636 §4.1). */
const codeVerifierPattern = '^[A-Za-z0-9._~-]{43,128}$';
const isCodeVerifier = (text: string): boolean => new RegExp(codeVerifierPattern).test(text);

/** base64url of a SHA-256 is 43 characters, and its last one carries four bits only (RFC 7636 §4.2). */
export const isCodeChallenge = (text: string): boolean => /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(text);

/** S256: BASE64URL(SHA256(ASCII(code_verifier))) (RFC 7636 §4.2). */
const codeChallengeOf = (code_verifier: string): string => hash('sha256', code_verifier, 'base64url');

type CodeRequest = TokenRequest<{ code: string; redirect_uri: string; code_verifier: string }>;

export const authorizationCode: GrantType = {
  description: 'Redeems an authorization code.',
  parameters: {
    code: needed('From the redirect, at most 60 seconds old.'),
    redirect_uri: needed('As in the authorization request.'),
    code_verifier: Type.String({
      pattern: codeVerifierPattern,
      description: 'What `code_challenge` of the authorization request is the hash of (RFC 7636).',
    }),
  },
  redeem: (deps, { form, ...from }) => authorizationCodeGrant(deps, { ...from, ...readForm(form) }),
};

/** @throws {RequestError} `invalid_request`; `invalid_grant` for a missing verifier (specification §4.4). */
function readForm({ code, redirect_uri, code_verifier }: Parameters) {
  if (!code) throw invalidRequest('code is missing.');
  if (!redirect_uri) throw invalidRequest('redirect_uri is missing.');
  if (!code_verifier) {
    const description = 'code_verifier is missing.';
    throw invalidGrant(description, 'request', { description });
  }
  if (!isCodeVerifier(code_verifier)) throw invalidRequest('code_verifier is not 43 to 128 unreserved characters.');
  return { code, redirect_uri, code_verifier };
}

/**
 * Redeems an authorization code (OAuth 2.1 §4.1.3): one conditional statement, whose `where` is the list of checks.
 * @throws {RequestError} `invalid_grant`; `invalid_scope` if the client may have none of its scope any more; `invalid_target`.
 */
async function authorizationCodeGrant(
  deps: Pick<
    Deps,
    | 'db'
    | 'apis'
    | 'attributes'
    | 'clock'
    | 'config'
    | 'vault'
    | 'keys'
    | 'clients'
    | 'issuances'
    | 'mail'
    | 'signInCounter'
    | 'statusLists'
  >,
  request: CodeRequest,
): Promise<TokenResponse> {
  const { client, resource, jkt, code, redirect_uri, code_verifier } = request;
  const part = deps.db.of(code);
  const redemption = {
    code_hash: digest(code),
    client_id: client.client_id,
    redirect_uri,
    code_challenge: codeChallengeOf(code_verifier),
    allowed_scopes: await usableScopes(deps, client.allowed_scopes),
    jkt: jkt ?? null,
    isBound: bindsRefreshTokens(client),
    status_ref: await nextStatusRef(deps, client),
    used_by: partyText(request),
  };
  const resources = await readResources(deps, resource);
  if (resources) {
    const grant = await findGrantByCode(part, redemption.code_hash);
    if (grant?.client_id === client.client_id)
      await requireTarget(deps, client, grant, { asked: grant.scope, resources });
  }
  const answer = (grant: IssuableGrant) =>
    issueTokens(deps, client, grant, { asked: grant.scope, resources, nonce: grant.nonce, jkt });
  const issued = await deps.issuances.issue(
    { part, key: redemption.code_hash, refresh_seq: 1 },
    async (issuance_id, prepare) => {
      const grant = await redeemCode(part, { ...redemption, issuance_id }, now(deps), prepare);
      const isTest = redirect_uri === testRedirectUri(deps.config, client.client_id);
      if (grant && !isTest) deps.signInCounter.count(grant.client_id, grant.user_id);
      return grant;
    },
    answer,
  );
  return issued ?? answer(await reissueForUsedCode(deps, part, redemption, request));
}

/**
 * The statement found no code to redeem. A second use that is right in every other respect means that the code leaked,
 * so the grant is revoked (OAuth 2.1 §7.5.2), unless the first answer may have been lost: then the tokens are issued
 * once more, until the code expires. A wrong verifier or client revokes nothing: otherwise an attacker with nothing but
 * a stolen code could sign users out.
 */
async function reissueForUsedCode(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'clients' | 'issuances' | 'mail'>,
  part: Part,
  redemption: CodeRedemption,
  request: CodeRequest,
): Promise<IssuableGrant> {
  const grant = await findGrantByCode(part, redemption.code_hash);
  const at = now(deps);
  const refusal = refusalOf(grant, redemption, at);
  // Even by a clock that may be wrong: a lost code costs a sign-in, one that becomes valid again may be a stolen one.
  if (grant?.redeemed_at === null && grant.code_expires_at <= at) await expireGrant(deps.db, grant.grant_id, at);
  const isReplay =
    grant !== undefined &&
    grant.redeemed_at !== null &&
    grant.client_id === redemption.client_id &&
    grant.redirect_uri === redemption.redirect_uri &&
    grant.code_challenge === redemption.code_challenge &&
    hasKeyOf(grant, redemption.jkt);
  if (!isReplay) throw refusal;
  // A client that has used the refresh token had the answer to the code, even if the answer to the refresh was lost.
  const mayLackAnswer = grant.revoked_at === null && grant.refresh_seq === 1;
  if (mayLackAnswer && (await deps.issuances.isUnanswered(grant))) {
    const reissuable = grant.code_expires_at > now(deps) ? await findReissuable(deps.db, grant, now(deps)) : undefined;
    if (reissuable) return reissuable;
    throw refusal;
  }
  const actor = `client:${grant.client_id}` as const;
  const alert = replayAlert(deps, grant, { kind: 'code_replayed', refresh_seq: 1 }, request);
  await revokeGrant(deps, { grant, reason: 'code_replay', actor, address: request.address, alert });
  throw refusal;
}

/** The diagnosis says more than the client's answer; a code of another client is unknown to its owner, too. */
function refusalOf(grant: Grant | undefined, redemption: CodeRedemption, at: number) {
  const description =
    'The code is unknown, expired, already used, or does not match this client, redirect_uri and code_verifier.';
  if (grant?.client_id !== redemption.client_id) return invalidGrant(description, 'code_unknown');
  if (grant.redirect_uri !== redemption.redirect_uri) {
    const compared = { sent: redemption.redirect_uri, registered: grant.redirect_uri };
    return invalidGrant(description, 'code_redirect_uri', compared);
  }
  if (grant.code_challenge !== redemption.code_challenge) return invalidGrant(description, 'code_verifier');
  if (!hasKeyOf(grant, redemption.jkt)) return invalidGrant(description, 'dpop_key');
  if (grant.redeemed_at !== null) return invalidGrant(description, 'code_replayed');
  if (grant.code_expires_at <= at) return invalidGrant(description, 'code_expired');
  if (withinAllowed(grant.scope, redemption.allowed_scopes) === '') return nothingAllowed();
  return invalidGrant(description, 'grant_ended');
}
