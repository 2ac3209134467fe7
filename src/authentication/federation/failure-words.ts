import type { MessageKey } from '../../platform/i18n/translate.ts';

type Key = Extract<MessageKey, `admin.provider_problem.${string}`>;

/** What the codes of `failureOf` have in common; the first that fits. */
const kinds: readonly (readonly [RegExp, Key])[] = [
  [
    /^(econn|enotfound|eai_|ehost|enet|etimedout|und_err_|timeout(error)?$|connection$|oauth_(timeout|abort)$)/,
    'admin.provider_problem.unreachable',
  ],
  [/^internal_address$/, 'admin.provider_problem.internal'],
  [/^(err_tls|err_ssl|cert_|self_signed|depth_zero|unable_to_)/, 'admin.provider_problem.certificate'],
  [/^(discovery_|address_not_allowed$|oauth_(missing|invalid)_server_metadata$)/, 'admin.provider_problem.discovery'],
  [/^(keys_|oauth_key_selection)/, 'admin.provider_problem.keys'],
  [/^oauth_(response_body_error|www_authenticate_challenge)$/, 'admin.provider_problem.refused'],
  [/^oauth_authorization_response_error$/, 'admin.provider_problem.no_code'],
  [/^(id_token_|oauth_(jwt|json_attribute)_)/, 'admin.provider_problem.id_token'],
];

/** Why a provider was of no use, for administrators; a code that is not known says only that. */
export const failureWords = (code: string): Key =>
  kinds.find(([pattern]) => pattern.test(code))?.[1] ?? 'admin.provider_problem.other';
