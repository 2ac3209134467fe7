import type { AttributeRegister } from '../../attributes/register.ts';
import { missingOf } from '../../attributes/values.ts';
import type { WaitingRequest } from '../../authentication/deps.ts';
import { oneFactor, twoFactors } from '../../authentication/sessions/authentication.ts';
import type { Session } from '../../authentication/statements.ts';
import { secondFactorOf } from '../../clients/choices.ts';
import type { Client } from '../../clients/client.ts';
import { claimsWithin } from '../claims/claims.ts';
import { claimsBeyondScope } from '../claims/claims-parameter.ts';
import type { Consented } from '../grants/consents.store.ts';
import { AuthorizationError, unmet } from './authorization-error.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { PendingRequest } from './store.ts';

export type Step = 'sign_in' | 'select_account' | 'consent' | 'step_up' | 'set_up' | 'no_access' | 'details' | 'code';

type FlowState = {
  client: Client;
  session: Session | undefined;
  /** The stored request with its progress, if it is not new. */
  pending: PendingRequest | undefined;
  /** What the user has allowed this client before; undefined if none, or if it was not read. */
  consented: Consented | undefined;
  /** The user of the session may use the client: everyone may, or members of some groups. */
  mayUse: boolean;
  /** The operator requires a second factor of every user. */
  requiresTwoFactors: boolean;
  attributes: AttributeRegister;
  /** The user continues without the stronger factor that the client prefers, or gives up where it is required. */
  declinesStepUp: boolean;
  now: number;
};

/**
 * What stands between a request and its code (OIDC Core §3.1.2.1, §3.1.2.3).
 * @returns an error if `prompt=none` forbids the page that is needed, or a user other than the hinted one has just signed in.
 */
export function nextStep(request: AuthorizationRequest, flowState: FlowState): Step | AuthorizationError {
  const step = decideStep(request, flowState);
  if (step instanceof AuthorizationError || !request.prompt.includes('none') || step === 'code') return step;
  if (step === 'no_access') return notAllowed();
  if (step === 'details') return new AuthorizationError('interaction_required', needsPage);
  return new AuthorizationError(step === 'consent' ? 'consent_required' : 'login_required', needsPage);
}

const needsPage = 'User interaction is required, which prompt=none does not allow.';

/** Who may use a client, an administrator decides. */
export const notAllowed = () => new AuthorizationError('access_denied', 'This user may not use this client.');

function decideStep(request: AuthorizationRequest, flowState: FlowState): Step | AuthorizationError {
  const { client, session, pending, now } = flowState;
  // A user with TOTP shows both factors, whatever `acr_values` prefers. A session with one was started before TOTP was
  // enabled, possibly by the attacker because of whom it was enabled.
  if (!session || session.lacks_second_factor) return 'sign_in';
  if (request.test_owner !== undefined && request.test_owner !== session.user_id) {
    return new AuthorizationError('access_denied', 'Only the owner of the client can test it.');
  }
  const hasJustSignedIn = pending?.authenticated_session_id === session.session_id;
  const isAnotherUser =
    (request.hint_sub !== undefined && request.hint_sub !== session.user_id) ||
    request.subjects?.includes(session.user_id) === false;
  if (hasJustSignedIn && isAnotherUser) {
    return new AuthorizationError(
      'login_required',
      'A user other than the one in id_token_hint or claims has signed in.',
    );
  }
  // A browser that is recognised is no sign-in of now, however young the password is that came with it.
  const isTooOld =
    request.max_age !== undefined && (session.rests_on_trust || now - session.auth_time > request.max_age);
  // max_age=0 means the same, also within the second of the last sign-in.
  const requiresSignIn = request.prompt.includes('login') || request.max_age === 0;
  if (!hasJustSignedIn && (isAnotherUser || isTooOld || requiresSignIn)) return 'sign_in';

  const hasChosen = hasJustSignedIn || pending?.account_selected_user_id === session.user_id;
  if (request.prompt.includes('select_account') && !hasChosen) return 'select_account';
  if (!flowState.mayUse) return 'no_access';
  // For the operator, who allows it, a trusted browser is the second step. For a client it is not.
  const operatorRequires = flowState.requiresTwoFactors && !session.rests_on_trust;
  if (session.acr !== twoFactors && (operatorRequires || isRegisteredWithTwoFactors(client))) {
    if (!flowState.declinesStepUp) return strongerStep(session);
    return operatorRequires
      ? new AuthorizationError('access_denied', 'A second factor is required.')
      : unmet('default_acr_values');
  }
  if (missingOf(flowState.attributes, session.attributes).length > 0) return 'details';
  const hasConsented = pending?.consented_user_id === session.user_id;
  if (!hasConsented && needsConsent(request, flowState)) return 'consent';
  if (isUnmet(request, session)) {
    // Without a page to show, the client learns that this class was not reached, not that some page is needed.
    const isReachable = session.lacks_strongest_factor || !request.prompt.includes('none');
    if (request.essential_acrs?.includes(twoFactors) && isReachable && !flowState.declinesStepUp) {
      return strongerStep(session);
    }
    return unmet('claims');
  }
  return requiresStepUp(request, session, flowState) ? 'step_up' : 'code';
}

const isRegisteredWithTwoFactors = ({ default_acr_values }: Client): boolean =>
  secondFactorOf(default_acr_values) === 'required';

/** The client gets no code from a session with one factor, by its registration or by this request. */
export const clientRequiresTwoFactors = (
  { essential_acrs }: { readonly essential_acrs?: readonly string[] },
  client: Client,
): boolean => isRegisteredWithTwoFactors(client) || essential_acrs?.includes(oneFactor) === false;

/** The request, or the client by its registration, wants a second factor that is given now, even if it would do without. */
export const asksSecondFactor = (
  {
    prompt,
    max_age,
    acr,
    essential_acrs,
  }: Pick<WaitingRequest['parameters'], 'prompt' | 'max_age' | 'acr' | 'essential_acrs'>,
  client: Client,
): boolean =>
  prompt.includes('login') ||
  max_age !== undefined ||
  acr === twoFactors ||
  clientRequiresTwoFactors({ essential_acrs }, client);

/** A user who has a second factor confirms with it, any other sets one up. */
const strongerStep = ({ lacks_strongest_factor }: Session): Step => (lacks_strongest_factor ? 'step_up' : 'set_up');

/** An essential `acr` that is not reached is a failed sign-in (OIDC Core §5.5.1.1). */
const isUnmet = ({ essential_acrs }: AuthorizationRequest, { acr }: Session): boolean =>
  essential_acrs !== undefined && !essential_acrs.some((one) => one === acr);

/**
 * What a request or the registration prefers is voluntary (OIDC Core §3.1.2.1, §5.5.1.1): a user who has a stronger factor
 * than this session has seen is asked for it, may decline, and is not asked where no page may be shown. The token says what
 * was reached.
 */
const requiresStepUp = ({ acr, prompt }: AuthorizationRequest, session: Session, { declinesStepUp }: FlowState) =>
  acr === twoFactors && session.lacks_strongest_factor && !declinesStepUp && !prompt.includes('none');

function needsConsent(request: AuthorizationRequest, { client, consented, attributes }: FlowState): boolean {
  if (request.prompt.includes('consent')) return true;
  if (client.consent === 'skip') return false;
  const allowed = consented?.scope.split(' ') ?? [];
  const allowedApis = consented?.apis?.split(' ') ?? [];
  const allowedClaims = [...claimsWithin(attributes, consented?.scope ?? ''), ...(consented?.claims?.split(' ') ?? [])];
  return (
    !request.scope.split(' ').every((name) => allowed.includes(name)) ||
    !claimsBeyondScope(request, attributes).every((claim) => allowedClaims.includes(claim)) ||
    !(request.apis ?? []).every((api_id) => allowedApis.includes(api_id))
  );
}
