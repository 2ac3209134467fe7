import type { AuthorizationError } from './authorization-error.ts';

type Target = { redirect_uri: string; state: string | undefined };

/** Where the answer goes: `iss` beside code or error, so that a client of several issuers cannot be mixed up (RFC 9207). */
export const codeRedirect = (target: Target, code: string, issuer: string): string =>
  redirect(target, { code }, issuer);

export const errorRedirect = (target: Target, error: AuthorizationError, issuer: string): string =>
  redirect(target, { error: error.code, error_description: error.message }, issuer);

function redirect({ redirect_uri, state }: Target, answer: Record<string, string>, issuer: string): string {
  const parameters = new URLSearchParams(answer);
  if (state !== undefined) parameters.set('state', state);
  parameters.set('iss', issuer);
  return `${redirect_uri}${redirect_uri.includes('?') ? '&' : '?'}${parameters}`;
}
