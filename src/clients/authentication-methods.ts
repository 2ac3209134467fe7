import type { ClientType } from './choices.ts';

type Method = {
  of: ClientType;
  usesSecret: boolean;
  /** Why it may fail, for the owner of the client: each has a text `failure.<code>`. */
  failures: readonly string[];
};

const bySecret = { of: 'confidential', usesSecret: true, failures: ['secret_wrong', 'secret_ended'] } as const;

/**
 * How a client proves who it is (OpenID Connect Core §9), in the order in which forms and discovery name them. What each reads
 * and checks is in `oauth/client-authentication`.
 */
export const authenticationMethods = {
  client_secret_basic: bySecret,
  client_secret_post: bySecret,
  private_key_jwt: {
    of: 'confidential',
    usesSecret: false,
    failures: [
      'assertion_missing',
      'assertion_malformed',
      'assertion_subject',
      'assertion_audience',
      'assertion_expired',
      'assertion_used',
      'assertion_signature',
      'key_unknown',
      'keys_unavailable',
    ],
  },
  none: { of: 'public', usesSecret: false, failures: ['secret_missing', 'secret_of_public'] },
} as const satisfies Record<string, Method>;

export type AuthenticationMethod = keyof typeof authenticationMethods;
export const methodNames = Object.keys(authenticationMethods) as readonly AuthenticationMethod[];

type Failure = (typeof authenticationMethods)[AuthenticationMethod]['failures'][number];
export const authenticationFailures: readonly Failure[] = [
  ...new Set(methodNames.flatMap((name): readonly Failure[] => authenticationMethods[name].failures)),
];

/** Whether it has secrets at all. Its type says only whether it could keep one. */
export const usesSecret = ({
  client_type,
  token_endpoint_auth_method: method,
}: {
  client_type: ClientType;
  token_endpoint_auth_method: AuthenticationMethod | null;
}): boolean => (method === null ? client_type === 'confidential' : authenticationMethods[method].usesSecret);
