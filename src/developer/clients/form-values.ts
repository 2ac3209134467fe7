import { type Client, proposalOf } from '../../clients/client.ts';
import type { ClientField } from '../../clients/client-field.ts';
import { type clientFields, type FieldName, fieldNames, fieldOf, membersOf } from '../../clients/fields.ts';
import { type SignOutTarget, signOutTargets, signOutUris } from '../../clients/libraries/catalogue.ts';
import type { Parameters } from '../../platform/http/parameters.ts';

/** A text unless its control is a switch or the list of scopes; entries of a list are lines, classes are words. */
type FieldValue<Name extends FieldName> = {
  switch: boolean;
  scopes: readonly string[];
  text: string;
  lines: string;
  json: string;
  choice: string;
  library: string;
  second_factor: string;
}[(typeof clientFields)[Name]['control']['kind']];

/** The fields as a browser sends them, right or wrong. */
export type FormValues = { [Name in FieldName]: FieldValue<Name> } & {
  client_type: string;
  /** Of a registration. */
  sign_out?: SignOutTarget | undefined;
  note_to_reviewer: string;
};

/** Each scope has a field of its own, because a parameter that comes twice is refused. */
const scopePrefix = 'scope ';
export const scopeField = (scope: string): string => `${scopePrefix}${scope}`;

/** How a field gets from what was sent to its value in the form, and from a client to there and back. */
type Reading = {
  read(form: Parameters, name: FieldName): FormValues[FieldName];
  show(value: never): FormValues[FieldName];
  send(value: never, name: FieldName): unknown;
};

const asText: Reading = {
  read: (form, name) => form[name]?.trim() ?? '',
  show: (value: string | null) => value ?? '',
  send: (value: string, name) => (value === '' && fieldOf(name).initial === null ? null : value),
};

const readings: Readonly<Record<ClientField['control']['kind'], Reading>> = {
  text: asText,
  choice: asText,
  library: asText,
  lines: {
    read: (form, name) => form[name] ?? '',
    show: (value: readonly string[]) => value.join('\n'),
    send: (value: string) => linesOf(value),
  },
  json: {
    read: (form, name) => form[name]?.trim() ?? '',
    show: (value: object | null) => (value === null ? '' : JSON.stringify(value, null, 2)),
    send: (value: string) => (value === '' ? null : jsonOf(value)),
  },
  second_factor: {
    read: (form, name) => form[name] ?? '',
    show: (value: readonly string[]) => value.join(' '),
    send: (value: string) => wordsOf(value),
  },
  switch: {
    read: (form, name) => form[name] !== undefined,
    show: (value: boolean) => value,
    send: (value: boolean) => value,
  },
  scopes: {
    read: (form) =>
      Object.keys(form).flatMap((name) => (name.startsWith(scopePrefix) ? [name.slice(scopePrefix.length)] : [])),
    show: (value: readonly string[]) => value,
    send: (value: readonly string[]) => value,
  },
};
const readingOf = (name: FieldName): Reading => readings[fieldOf(name).control.kind];

const ofEachField = <Value>(value: (name: FieldName) => Value) =>
  Object.fromEntries(fieldNames.map((name) => [name, value(name)]));

export const readFormValues = (form: Parameters): FormValues =>
  ({
    ...ofEachField((name) => readingOf(name).read(form, name)),
    client_type: form.client_type ?? '',
    sign_out: signOutTargets.find((target) => target === form.sign_out),
    note_to_reviewer: form.note_to_reviewer?.trim() ?? '',
  }) as FormValues;

export const emptyForm: FormValues = {
  ...readFormValues({}),
  ...Object.fromEntries(
    Object.entries(membersOf('initial')).map(([name, value]) => [
      name,
      readingOf(name as FieldName).show(value as never),
    ]),
  ),
};

export function formValuesOf(client: Client): FormValues {
  const proposal = proposalOf(client);
  return {
    ...ofEachField((name) => readingOf(name).show(proposal[name] as never)),
    client_type: proposal.client_type,
    note_to_reviewer: proposal.note_to_reviewer ?? '',
  } as FormValues;
}

/** What a form asks for that does not ask for everything. */
export const askedFirst = ['name', 'redirect_uris'] as const satisfies readonly FieldName[];

/** The others as a browser would send them, with the kind of their control. */
export function valuesBehind(formValues: FormValues): { name: string; value: string; kind: string }[] {
  const rest = fieldNames.filter((name) => !askedFirst.some((one) => one === name));
  const fields = rest.flatMap((name): { name: string; value: string; kind: string }[] => {
    const value = formValues[name];
    const { kind } = fieldOf(name).control;
    if (kind === 'scopes')
      return (value as readonly string[]).map((scope) => ({ name: scopeField(scope), value: 'on', kind }));
    const sent = value === true ? 'on' : value || '';
    return sent === '' ? [] : [{ name, value: String(sent), kind }];
  });
  const { client_type, sign_out } = formValues;
  return [
    ...fields,
    { name: 'client_type', value: client_type, kind: 'choice' },
    ...(sign_out === undefined ? [] : [{ name: 'sign_out', value: sign_out, kind: 'sign_out' }]),
  ];
}

/** What is no JSON stays a text, which is refused as such. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const wordsOf = (text: string): string[] => text.split(' ').filter(Boolean);

export const linesOf = (text: string): string[] =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter(Boolean);

/** As the JSON of a registration. Without an application type, which a browser always sends, the default applies. */
export function bodyOf({ sign_out, ...formValues }: FormValues): Record<string, unknown> {
  const sent = ofEachField((name) => readingOf(name).send(formValues[name] as never, name));
  const redirect_uris = linesOf(formValues.redirect_uris);
  const listed = linesOf(formValues.post_logout_redirect_uris);
  return {
    ...sent,
    client_type: formValues.client_type,
    application_type: formValues.application_type || undefined,
    post_logout_redirect_uris: [...new Set([...signOutUris(sign_out, redirect_uris), ...listed])],
    note_to_reviewer: formValues.note_to_reviewer || null,
  };
}
