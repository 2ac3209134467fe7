import { invalidValue, scimError } from '../errors.ts';
import { type AttributePath, attributePath, type Filter, type PatchPath, parsePatchPath } from '../filter.ts';
import type { PatchOperation } from '../patch.ts';

/** What a directory may say of a user, in one level. Null: nothing. */
export type UserForm = {
  userName: string | null;
  externalId: string | null;
  givenName: string | null;
  middleName: string | null;
  familyName: string | null;
  /** Of directories that say the whole name and no `displayName`. */
  formatted: string | null;
  displayName: string | null;
  nickName: string | null;
  preferredLanguage: string | null;
  timezone: string | null;
  email: string | null;
  /** Whether the directory says of the address that it is the primary one. */
  primary: boolean | null;
  active: boolean | null;
};

type Field = keyof UserForm;
type TextField = Exclude<Field, 'active' | 'primary'>;

/** In lower case, as paths are read. */
const plainFields: Readonly<Record<string, TextField>> = {
  username: 'userName',
  externalid: 'externalId',
  displayname: 'displayName',
  nickname: 'nickName',
  preferredlanguage: 'preferredLanguage',
  timezone: 'timezone',
};
const nameFields: Readonly<Record<string, TextField>> = {
  givenname: 'givenName',
  middlename: 'middleName',
  familyname: 'familyName',
  formatted: 'formatted',
};

/** Attributes of RFC 7643 §4.1 that are not kept. Directories send them by default, so they are no mistakes. */
const ignored: ReadonlySet<string> = new Set(
  `addresses entitlements honorificprefix honorificsuffix ims locale password phonenumbers photos profileurl
  roles title usertype x509certificates`.split(/\s+/),
);
const readOnly: ReadonlySet<string> = new Set(['id', 'meta', 'groups', 'schemas']);

export const emptyForm: UserForm = {
  userName: null,
  externalId: null,
  givenName: null,
  middleName: null,
  familyName: null,
  formatted: null,
  displayName: null,
  nickName: null,
  preferredLanguage: null,
  timezone: null,
  email: null,
  primary: null,
  active: null,
};

/** What POST and PUT send. Members that are unknown or read-only are ignored (RFC 7644 §3.3, §3.5.1). */
export function readUser(body: Readonly<Record<string, unknown>>): UserForm {
  const form = { ...emptyForm };
  for (const [name, value] of Object.entries(body)) {
    const path = pathOfMember(name);
    if (path !== undefined && path.extension === undefined) assign(form, { ...path, filter: undefined }, value);
  }
  return form;
}

/** Undefined for a name that is no attribute. */
function pathOfMember(name: string): AttributePath | undefined {
  try {
    return attributePath(name);
  } catch {
    return undefined;
  }
}

/** @returns what the operations make of a user. @throws {RequestError} in the words of RFC 7644 §3.5.2. */
export function patchUser(before: UserForm, operations: readonly PatchOperation[]): UserForm {
  const form = { ...before };
  for (const { op, path, value } of operations) {
    if (path !== undefined) {
      patchAt(form, parsePatchPath(path), op === 'remove' ? null : value);
      continue;
    }
    if (op === 'remove') throw scimError(400, 'noTarget', 'The operation remove needs a path.');
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw invalidValue('An operation without a path needs an object as its value.');
    // Entra ID has paths as names here, too.
    for (const [name, one] of Object.entries(value)) patchAt(form, parsePatchPath(name), one);
  }
  return form;
}

function patchAt(form: UserForm, path: PatchPath, value: unknown): void {
  if (path.extension !== undefined) return;
  if (readOnly.has(path.attribute) && path.attribute !== 'schemas')
    throw scimError(400, 'mutability', `The attribute ${path.attribute} is read-only.`);
  if (path.attribute === 'emails' && !isOurEmail(path.filter, form.email)) return;
  if (!assign(form, path, value) && !ignored.has(path.attribute) && !readOnly.has(path.attribute))
    throw scimError(400, 'invalidPath', 'The path names no attribute of a user.');
}

/** @returns false for a path that is none of ours. */
function assign(form: UserForm, { attribute, sub, filter }: PatchPath, value: unknown): boolean {
  const plain = Object.hasOwn(plainFields, attribute) ? plainFields[attribute] : undefined;
  if (plain !== undefined && sub === undefined && filter === undefined) {
    form[plain] = readText(attribute, value);
    return true;
  }
  if (attribute === 'active' && sub === undefined) {
    form.active = readBoolean(value);
    return true;
  }
  if (attribute === 'name') return assignName(form, sub, value);
  if (attribute === 'emails') return assignEmail(form, sub, value);
  return false;
}

function assignName(form: UserForm, sub: string | undefined, value: unknown): boolean {
  if (sub !== undefined) {
    const field = Object.hasOwn(nameFields, sub) ? nameFields[sub] : undefined;
    if (field !== undefined) form[field] = readText(sub, value);
    return field !== undefined || ignored.has(sub);
  }
  if (value === null) {
    for (const field of Object.values(nameFields)) form[field] = null;
    return true;
  }
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidValue('The attribute name is an object.');
  for (const [name, part] of Object.entries(value)) assignName(form, name.toLowerCase(), part);
  return true;
}

type Email = { value: unknown; type: unknown; primary: unknown };

function assignEmail(form: UserForm, sub: string | undefined, value: unknown): boolean {
  if (sub === 'value') form.email = readText('emails.value', value);
  if (sub === 'primary') form.primary = readBoolean(value);
  if (sub !== undefined) return ['value', 'type', 'primary', 'display', '$ref'].includes(sub);
  if (typeof value === 'string' || value === null) {
    form.email = readText('emails', value);
    form.primary = null;
    return true;
  }
  const emails = (Array.isArray(value) ? value : [value]).map(readEmail);
  const ours =
    emails.find(({ primary }) => readBoolean(primary ?? null)) ??
    emails.find(({ type }) => typeof type === 'string' && type.toLowerCase() === 'work') ??
    emails[0];
  form.email = ours === undefined ? null : readText('emails.value', ours.value);
  form.primary = readBoolean(ours?.primary ?? null);
  return true;
}

function readEmail(one: unknown): Email {
  if (typeof one === 'string') return { value: one, type: undefined, primary: undefined };
  if (typeof one !== 'object' || one === null) throw invalidValue('An email is an object with a value.');
  const members = Object.fromEntries(Object.entries(one).map(([name, value]) => [name.toLowerCase(), value]));
  return { value: members.value ?? null, type: members.type, primary: members.primary };
}

/** Whether a filter on emails is about the one address of an account: it is of the type work, and primary. */
function isOurEmail(filter: Filter | undefined, email: string | null): boolean {
  if (filter === undefined) return true;
  if (filter.kind === 'and') return filter.filters.every((one) => isOurEmail(one, email));
  if (filter.kind !== 'compare' || filter.op !== 'eq') throw unsupported();
  const { path, value } = filter;
  if (path.attribute === 'type') return typeof value === 'string' && value.toLowerCase() === 'work';
  if (path.attribute === 'primary') return value === true || value === 'true' || value === 'True';
  if (path.attribute === 'value') return typeof value === 'string' && value.toLowerCase() === email?.toLowerCase();
  throw unsupported();
}

const unsupported = () =>
  scimError(400, 'invalidFilter', 'In a path, emails are found by eq on type, primary or value.');

function readText(name: string, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const one = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (typeof one !== 'string') throw invalidValue(`The attribute ${name} is a string.`);
  return one.trim() === '' ? null : one.trim();
}

/** Entra ID sends the words `True` and `False`. */
function readBoolean(value: unknown): boolean | null {
  if (value === null || typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : undefined;
  if (word !== 'true' && word !== 'false') throw invalidValue('The attributes active and primary are true or false.');
  return word === 'true';
}
