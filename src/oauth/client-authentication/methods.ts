import { type AuthenticationMethod, methodNames, usesSecret } from '../../clients/authentication-methods.ts';
import { type AccessDescription, noCredentials } from '../../platform/http/access.ts';
import { type TSchema, Type } from '../../platform/schema.ts';
import { assertionMissing, privateKeyJwt } from './client-assertion.ts';
import { clientSecretBasic, clientSecretPost } from './client-secret.ts';
import type { Method } from './method.ts';

/** What there is when nothing is shown, or nothing but an empty secret. */
const none: Method = {
  presents: () => undefined,
  prove: (_, client) => {
    if (client.client_type === 'public') return undefined;
    return usesSecret(client) ? { code: 'secret_missing' } : assertionMissing;
  },
  parameters: {},
  access: noCredentials,
  words: 'if it is public, with `client_id` alone',
};

export const methods: Readonly<Record<AuthenticationMethod, Method>> = {
  client_secret_basic: clientSecretBasic,
  client_secret_post: clientSecretPost,
  private_key_jwt: privateKeyJwt,
  none,
};

/** The methods that each endpoint takes, as discovery and the API description state them. */
export const methodsAt = {
  token: methodNames,
  introspection: ['client_secret_basic', 'private_key_jwt'],
  revocation: methodNames,
  pushed_authorization_request: methodNames,
  signals: ['client_secret_basic', 'private_key_jwt'],
} as const satisfies Record<string, readonly AuthenticationMethod[]>;
export type Endpoint = keyof typeof methodsAt;

const at = (endpoint: Endpoint): Method[] => methodsAt[endpoint].map((name) => methods[name]);

export const accessAt = (endpoint: Endpoint): AccessDescription[] => [
  ...new Set(at(endpoint).flatMap(({ access }) => access ?? [])),
];

export const authenticationInWords = (endpoint: Endpoint): string =>
  `The client authenticates ${at(endpoint)
    .map(({ words }) => words)
    .join('; or ')}.`;

/** Of the form of one endpoint, beside `client_id`. */
export const credentialParametersAt = (endpoint: Endpoint): Readonly<Record<string, TSchema>> =>
  Object.assign({}, ...at(endpoint).map(({ parameters }) => parameters));

/** Of every form with which a client authenticates: what an endpoint does not take, it refuses or compares. */
export const credentialParameters = {
  client_id: Type.Optional(Type.String({ description: 'Also accepted in HTTP Basic only.' })),
  ...Object.assign({}, ...methodNames.map((name) => methods[name].parameters)),
} as Readonly<Record<string, TSchema>>;
