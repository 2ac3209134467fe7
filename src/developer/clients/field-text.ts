import { type Client, type ReviewedFields, secondFactorOf } from '../../clients/client.ts';
import { findLibrary } from '../../clients/libraries/catalogue.ts';
import type { View } from '../../platform/pages/view.ts';
import { libraryName } from '../setup/setup.ts';

type Field = keyof ReviewedFields;
type FieldText = (view: View, value: ReviewedFields[Field] | undefined, client: Pick<Client, 'client_type'>) => string;

const yesOrNo: FieldText = (view, value) => view.plain(value === true ? 'value.yes' : 'value.no');

/**
 * For fields with a few possible values: the words of the form. `none` is an authentication method, so a client that is not
 * bound to one must not read "none".
 */
export const fieldTexts: Readonly<Partial<Record<Field, FieldText>>> = {
  application_type: (view, value) => view.plain(`developer.application_type.${value as Client['application_type']}`),
  backchannel_logout_session_required: yesOrNo,
  claims_in_id_token: yesOrNo,
  default_acr_values(view, value) {
    const classes = value as Client['default_acr_values'];
    const words = view.plain(`developer.second_factor.${secondFactorOf(classes)}`);
    return classes.length === 0 ? words : `${words} (${classes.join(', ')})`;
  },
  library(view, value) {
    const library = findLibrary(value as Client['library']);
    return library ? libraryName(view, library) : view.plain('developer.library.none');
  },
  token_endpoint_auth_method(view, value, { client_type }) {
    const method = value as Client['token_endpoint_auth_method'];
    return view.plain(`developer.authentication.${method ?? (client_type === 'public' ? 'none' : 'any')}`);
  },
};
