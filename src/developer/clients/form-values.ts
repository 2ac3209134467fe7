import { type Client, proposalOf } from '../../clients/client.ts';
import { type SignOutTarget, signOutTargets, signOutUris } from '../../clients/libraries/catalogue.ts';
import { defaultAllowedScopes, scopeNames } from '../../clients/scopes.ts';
import type { Parameters } from '../../platform/http/parameters.ts';

/** The fields as a browser sends them, right or wrong. */
export type FormValues = {
  name: string;
  library: string;
  client_type: string;
  application_type: string;
  /** One a line. */
  redirect_uris: string;
  /** One a line. */
  post_logout_redirect_uris: string;
  /** Of a registration. */
  sign_out?: SignOutTarget | undefined;
  allowed_scopes: readonly string[];
  /** Separated by spaces. */
  default_acr_values: string;
  id_token_signed_response_alg: string;
  token_endpoint_auth_method: string;
  claims_in_id_token: boolean;
  backchannel_logout_uri: string;
  backchannel_logout_session_required: boolean;
  homepage_url: string;
  policy_uri: string;
  tos_uri: string;
  logo_url: string;
  note_to_reviewer: string;
};

/** Each scope has a field of its own, because a parameter that comes twice is refused. */
export const scopeField = (scope: string): string => `scope ${scope}`;

export const readFormValues = (form: Parameters): FormValues => ({
  name: form.name ?? '',
  library: form.library ?? '',
  client_type: form.client_type ?? '',
  application_type: form.application_type ?? '',
  redirect_uris: form.redirect_uris ?? '',
  post_logout_redirect_uris: form.post_logout_redirect_uris ?? '',
  sign_out: signOutTargets.find((target) => target === form.sign_out),
  allowed_scopes: scopeNames.filter((scope) => form[scopeField(scope)] !== undefined),
  default_acr_values: form.default_acr_values ?? '',
  id_token_signed_response_alg: form.id_token_signed_response_alg ?? '',
  token_endpoint_auth_method: form.token_endpoint_auth_method ?? '',
  claims_in_id_token: form.claims_in_id_token !== undefined,
  backchannel_logout_uri: form.backchannel_logout_uri?.trim() ?? '',
  backchannel_logout_session_required: form.backchannel_logout_session_required !== undefined,
  homepage_url: form.homepage_url?.trim() ?? '',
  policy_uri: form.policy_uri?.trim() ?? '',
  tos_uri: form.tos_uri?.trim() ?? '',
  logo_url: form.logo_url?.trim() ?? '',
  note_to_reviewer: form.note_to_reviewer?.trim() ?? '',
});

export const emptyForm: FormValues = {
  ...readFormValues({}),
  allowed_scopes: defaultAllowedScopes,
  id_token_signed_response_alg: 'EdDSA',
};

export function formValuesOf(client: Client): FormValues {
  const proposal = proposalOf(client);
  return {
    ...proposal,
    redirect_uris: proposal.redirect_uris.join('\n'),
    post_logout_redirect_uris: proposal.post_logout_redirect_uris.join('\n'),
    default_acr_values: proposal.default_acr_values.join(' '),
    library: proposal.library ?? '',
    token_endpoint_auth_method: proposal.token_endpoint_auth_method ?? '',
    backchannel_logout_uri: proposal.backchannel_logout_uri ?? '',
    homepage_url: proposal.homepage_url ?? '',
    policy_uri: proposal.policy_uri ?? '',
    tos_uri: proposal.tos_uri ?? '',
    logo_url: proposal.logo_url ?? '',
    note_to_reviewer: proposal.note_to_reviewer ?? '',
  };
}

export const wordsOf = (text: string): string[] => text.split(' ').filter(Boolean);

export const linesOf = (text: string): string[] =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter(Boolean);

/** As the JSON of a registration. Without an application type, which a browser always sends, the default applies. */
export function bodyOf({ sign_out, ...formValues }: FormValues) {
  const redirect_uris = linesOf(formValues.redirect_uris);
  const listed = linesOf(formValues.post_logout_redirect_uris);
  return {
    ...formValues,
    application_type: formValues.application_type || undefined,
    redirect_uris,
    post_logout_redirect_uris: [...new Set([...signOutUris(sign_out, redirect_uris), ...listed])],
    default_acr_values: wordsOf(formValues.default_acr_values),
    library: formValues.library || null,
    token_endpoint_auth_method: formValues.token_endpoint_auth_method || null,
    backchannel_logout_uri: formValues.backchannel_logout_uri || null,
    homepage_url: formValues.homepage_url || null,
    policy_uri: formValues.policy_uri || null,
    tos_uri: formValues.tos_uri || null,
    logo_url: formValues.logo_url || null,
    note_to_reviewer: formValues.note_to_reviewer || null,
  };
}
