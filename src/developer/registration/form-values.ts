import type { Client } from '../../clients/client.ts';
import { defaultScope, scopeNames } from '../../clients/scopes.ts';
import type { Parameters } from '../../platform/http/parameters.ts';

/** The form as somebody has filled it in, right or wrong: it comes back as it was. */
export type FormValues = {
  name: string;
  client_type: string;
  /** One a line. */
  redirect_uris: string;
  allowed_scopes: readonly string[];
  homepage_url: string;
  logo_url: string;
  id_token_signed_response_alg: string;
};

export const emptyForm: FormValues = {
  name: '',
  client_type: '',
  redirect_uris: '',
  allowed_scopes: defaultScope,
  homepage_url: '',
  logo_url: '',
  id_token_signed_response_alg: 'EdDSA',
};

/** As its owner would have it: with the change that waits. */
export function formValuesOf(client: Client): FormValues {
  const wanted = { ...client, ...client.pending_change };
  return {
    name: wanted.name,
    client_type: wanted.client_type,
    redirect_uris: wanted.redirect_uris.join('\n'),
    allowed_scopes: wanted.allowed_scopes,
    homepage_url: wanted.homepage_url ?? '',
    logo_url: wanted.logo_url ?? '',
    id_token_signed_response_alg: wanted.id_token_signed_response_alg,
  };
}

/** Each scope has a field of its own, because a parameter that comes twice is refused. */
export const scopeField = (scope: string): string => `scope ${scope}`;

export const readFormValues = (form: Parameters): FormValues => ({
  name: form.name ?? '',
  client_type: form.client_type ?? '',
  redirect_uris: form.redirect_uris ?? '',
  allowed_scopes: scopeNames.filter((scope) => form[scopeField(scope)] !== undefined),
  homepage_url: form.homepage_url?.trim() ?? '',
  logo_url: form.logo_url?.trim() ?? '',
  id_token_signed_response_alg: form.id_token_signed_response_alg ?? '',
});

export const linesOf = (text: string): string[] =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter(Boolean);

/** As the JSON of an edit; a registration has its `client_type` besides. */
export const editBodyOf = (formValues: FormValues) => ({
  name: formValues.name,
  redirect_uris: linesOf(formValues.redirect_uris),
  allowed_scopes: [...formValues.allowed_scopes],
  homepage_url: formValues.homepage_url || null,
  logo_url: formValues.logo_url || null,
  id_token_signed_response_alg: formValues.id_token_signed_response_alg,
});
