import type { Scheme } from './authorization.ts';
import { TokenError, type TokenErrorCode } from './token-error.ts';

/** What a refusal says of the request and of what would be accepted. */
export type Refusal = {
  /** By which scheme the token came. Default: the first that is accepted. */
  scheme?: Scheme | undefined;
  /** The scopes that are needed. */
  scope?: readonly string[] | undefined;
  acr?: readonly string[] | undefined;
  /** Seconds. */
  maxAge?: number | undefined;
  cause?: unknown;
};

export type Refuse = (code: TokenErrorCode, description: string, refusal?: Refusal) => TokenError;

type ChallengeOptions = {
  realm: string;
  /** Those that are accepted, at least one. */
  schemes: readonly Scheme[];
  proofAlgorithms: readonly string[];
  /** The address of the metadata of the API (RFC 9728 §5.1). */
  resourceMetadata: string | undefined;
};

/**
 * Makes refusals with one challenge for each scheme that is accepted (RFC 9449 §7.2): first that of the request, which says what was
 * wrong. A request without credentials gets no error code, since it may not have known that it needs any (RFC 6750 §3.1).
 */
export function refusals({ realm, schemes, proofAlgorithms, resourceMetadata }: ChallengeOptions): Refuse {
  return (code, description, { scheme: used, scope = [], acr = [], maxAge, cause } = {}) => {
    const first = schemes.find((scheme) => scheme === used) ?? schemes[0];
    const ordered = [...schemes].sort((one, other) => Number(other === first) - Number(one === first));
    const challenge = ordered
      .map((scheme) => {
        const parameters = [['realm', realm]];
        if (scheme === first) {
          if (code !== 'missing_token') parameters.push(['error', code], ['error_description', description]);
          if (acr.length > 0) parameters.push(['acr_values', acr.join(' ')]);
          if (maxAge !== undefined) parameters.push(['max_age', String(maxAge)]);
        }
        if (scope.length > 0) parameters.push(['scope', scope.join(' ')]);
        if (resourceMetadata) parameters.push(['resource_metadata', resourceMetadata]);
        if (scheme === 'DPoP') parameters.push(['algs', proofAlgorithms.join(' ')]);
        return `${scheme} ${parameters.map(([name, value]) => `${name}="${value}"`).join(', ')}`;
      })
      .join(', ');
    return new TokenError(code, { description, challenge, cause });
  };
}

/** Of a parameter in a challenge: printable ASCII, without what would end or escape it (RFC 9110 §5.6.4). */
export const isQuotable = (value: string): boolean => /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
