import type { Client } from '../../clients/client.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { type Static, type TSchema, Type } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';
import { tokenTypes } from './access-token.ts';

/**
 * What a grant type has read of the form of an authenticated client. `address` is where the request came from, `userAgent` what it says of
 * its browser or library, `resource` names APIs (RFC 8707), `jkt` is the thumbprint of the key that the client has proven to have (RFC 9449).
 */
export type TokenRequest<Asked> = Asked & {
  client: Client;
  address: string;
  userAgent?: string | undefined;
  resource: readonly string[];
  jkt: string | undefined;
};

type GrantDeps = Pick<
  Deps,
  | 'db'
  | 'apis'
  | 'clock'
  | 'timekeeper'
  | 'config'
  | 'vault'
  | 'keys'
  | 'clients'
  | 'clientFailures'
  | 'issuances'
  | 'statusLists'
  | 'mail'
  | 'attributes'
  | 'signInCounter'
>;

/** What the token endpoint takes for tokens: see `grant-types.ts`. */
export type GrantType = {
  readonly description: string;
  /** Beside `grant_type` and what authenticates the client. */
  readonly parameters: Readonly<Record<string, TSchema>>;
  /** @throws {RequestError} `invalid_request` for what is missing or malformed, and as the grant type says. */
  redeem(deps: GrantDeps, request: TokenRequest<{ form: Parameters }>): Promise<TokenResponse>;
};

/** A parameter that a grant type needs. An empty one counts as absent (OAuth 2.1 §3.1). */
export const needed = (description: string) => Type.String({ minLength: 1, description });

/** The body of a token response (specification 2.3, RFC 6749 §5.1, OIDC Core §3.1.3.3). */
export const TokenResponse = Type.Object({
  access_token: Type.String({ description: 'A JWT (RFC 9068).' }),
  token_type: Type.Enum([...tokenTypes], { description: '`DPoP`: bound to the key of the proof in the request.' }),
  expires_in: Type.Integer({ minimum: 1, description: 'Lifetime of the access token in seconds.' }),
  scope: Type.String({ description: 'What was granted, separated by spaces.' }),
  refresh_token: Type.Optional(Type.String({ description: 'With scope `offline_access`.' })),
  id_token: Type.Optional(Type.String({ description: 'With scope `openid`.' })),
});
export type TokenResponse = Static<typeof TokenResponse>;

/** Of each grant type. It may come several times (RFC 8707 §2). */
export const resourceParameter = {
  resource: Type.Optional(
    Type.String({
      format: 'uri',
      description:
        'The identifier of an API of the grant, for a token that is for that one alone (RFC 8707). May be sent several times. The issuer: for no API.',
    }),
  ),
};
