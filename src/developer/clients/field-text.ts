import { secondFactorOf } from '../../clients/choices.ts';
import type { Client, ReviewedFields } from '../../clients/client.ts';
import { type FieldName, fieldOf } from '../../clients/fields.ts';
import { describeKeys, type KeySet } from '../../clients/keys/key-set.ts';
import { findLibrary } from '../../clients/libraries/catalogue.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import type { View } from '../../platform/pages/view.ts';
import { libraryName } from '../setup/setup.ts';

/**
 * The value of a field with a few possible values in the words of the form; undefined for any other field. `none` is an
 * authentication method, so a client that is not bound to one must not read "none".
 */
export function fieldText(
  view: View,
  name: FieldName,
  value: ReviewedFields[FieldName] | undefined,
  { client_type }: Pick<Client, 'client_type'>,
): string | undefined {
  const { control } = fieldOf(name);
  if (control.kind === 'switch') return view.plain(value === true ? 'value.yes' : 'value.no');
  if (control.kind === 'second_factor') {
    const classes = value as Client['default_acr_values'];
    const words = view.plain(`developer.second_factor.${secondFactorOf(classes)}`);
    return classes.length === 0 ? words : `${words} (${classes.join(', ')})`;
  }
  if (control.kind === 'library') {
    const library = findLibrary(value as Client['library']);
    return library ? libraryName(view, library) : view.plain('developer.library.none');
  }
  if (control.kind !== 'choice') return undefined;
  const unset = name === 'token_endpoint_auth_method' && client_type === 'public' ? 'none' : control.unset;
  return view.plain(`developer.${control.texts}.${value ?? unset}` as MessageKey);
}

/** The entries of a list, of a key set its keys, and one of a text; none for null. @param value also of a log, which keeps texts of keys. */
export function fieldEntries(value: ReviewedFields[FieldName] | undefined): readonly string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object') return [String(value)];
  return Array.isArray(value) ? value : describeKeys(value as KeySet);
}
