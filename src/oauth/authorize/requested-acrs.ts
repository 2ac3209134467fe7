import { type Acr, acrs, twoFactors } from '../../authentication/sessions/authentication.ts';
import { secondFactorOf } from '../../clients/choices.ts';
import type { Client } from '../../clients/client.ts';
import type { ClaimsParameter } from '../claims/claims-parameter.ts';

/** Classes of authentication that a request or its client asks for. */
type RequestedAcrs = {
  /** The first class that exists here of those that are preferred. */
  acr: Acr | undefined;
  /** Classes of which one has to be reached (OIDC Core §5.5.1.1); empty if no sign-in can. Undefined if none is essential. */
  essential_acrs: Acr[] | undefined;
};

/**
 * Any class that the request names overrides those that its client is registered with (OpenID Connect Dynamic Client
 * Registration 1.0 §2). What the client requires is decided with the next step, for it holds whatever a request says.
 * @param acr_values of the request. @param acr of its parameter `claims`.
 */
export function requestedAcrs(
  acr_values: string | undefined,
  acr: ClaimsParameter['acr'],
  { default_acr_values }: Client,
): RequestedAcrs {
  const named = [...(acr_values?.split(' ') ?? []), ...(acr?.values ?? [])];
  const accepted = (one: Acr) => secondFactorOf(default_acr_values) !== 'required' || one === twoFactors;
  return {
    acr: knownAcrs(named.length > 0 ? named : default_acr_values)[0],
    essential_acrs: acr?.isEssential ? knownAcrs(acr.values).filter(accepted) : undefined,
  };
}

/** By preference (OIDC Core §3.1.2.1). */
const knownAcrs = (values: readonly string[]): Acr[] =>
  values.flatMap((value) => acrs.find((acr) => acr === value) ?? []);
