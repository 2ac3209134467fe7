import type { Client } from '../../clients/client.ts';
import type { Failure, FailureCode, FailureDetail } from '../../clients/failures.ts';
import { RequestError } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { type Static, Type } from '../../platform/schema.ts';

/** A token request whose client is authenticated. `address` is where it came from. */
export type TokenRequest = { client: Client; form: Parameters; address: string };

/** The body of a token response (specification 2.3, RFC 6749 §5.1, OIDC Core §3.1.3.3). */
export const TokenResponse = Type.Object({
  access_token: Type.String({ description: 'A JWT (RFC 9068).' }),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ minimum: 1, description: 'Lifetime of the access token in seconds.' }),
  scope: Type.String({ description: 'What was granted, separated by spaces.' }),
  refresh_token: Type.Optional(Type.String({ description: 'With scope `offline_access`.' })),
  id_token: Type.Optional(Type.String({ description: 'With scope `openid`.' })),
});
export type TokenResponse = Static<typeof TokenResponse>;

/** A refusal with a diagnosis that only the owner of the client may read. */
export class TokenRefusal extends RequestError {
  readonly diagnosis: Failure;
  constructor(code: 'invalid_grant' | 'invalid_scope', description: string, diagnosis: Failure) {
    super(code, description);
    this.diagnosis = diagnosis;
  }
}

export const invalidGrant = (description: string, code: FailureCode, detail?: FailureDetail) =>
  new TokenRefusal('invalid_grant', description, { code, detail: detail && (() => detail) });

export const invalidScope = (description: string, { form }: TokenRequest) =>
  new TokenRefusal('invalid_scope', description, {
    code: 'invalid_scope',
    detail: () => ({ sent: form.scope ?? '' }),
  });

/** A token without any scope would be of no use, and is not issued. */
export const nothingAllowed = (request: TokenRequest) =>
  invalidScope('The client is no longer allowed any of the requested scopes.', request);

/** For the owner of the client. */
export const diagnose = (error: RequestError): Failure =>
  error instanceof TokenRefusal ? error.diagnosis : { code: 'request', detail: () => ({ description: error.message }) };
