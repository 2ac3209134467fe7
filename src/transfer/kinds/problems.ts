import { isDeepStrictEqual } from 'node:util';
import { apiProblems, identifierProblem, scopePattern, scopeProblems, type WantedScope } from '../../apis/api-rules.ts';
import type { Attribute } from '../../attributes/attribute.ts';
import { attributeProblems, rulesOf } from '../../attributes/attribute-rules.ts';
import { providerLogoIdOf, readProviderLogo } from '../../authentication/credentials/providers.ts';
import { readNewProvider } from '../../authentication/federation/provider-rules.ts';
import { brandProblems } from '../../brand/brand-rules.ts';
import { pictureIdOf } from '../../brand/change-brand.ts';
import { isClientId, reviewedFields } from '../../clients/client.ts';
import { isHost } from '../../clients/from-outside/approved-hosts.ts';
import { isLogoId, readLogo } from '../../clients/logos.ts';
import { logoUrlProblem } from '../../clients/page-url.ts';
import { readClientEdit, readRegistration } from '../../clients/registration.ts';
import { readWrite } from '../../entitlements/entitlement.ts';
import { storedProblems } from '../../entitlements/service-credentials/manage-credential.ts';
import { isAdministrative, isCredentialId } from '../../entitlements/service-credentials/service-credential.ts';
import { now } from '../../platform/clock.ts';
import type { ExportedRecord } from '../../platform/db/exported-table.ts';
import { type FieldProblem, RequestError } from '../../platform/errors.ts';
import { isOwnId } from '../../platform/ids.ts';
import { type BrandPicture, type BrandSettings, pictureNames, plainBrand } from '../../platform/pages/brand.ts';
import { maxPictureKb, readPicture } from '../../platform/picture-files.ts';
import { findChangeableSetting } from '../../platform/settings/changeable-settings.ts';
import { methodUrns, readStream } from '../../signals/stream.ts';
import { readTerms } from '../../webhooks/terms.ts';
import type { TransferDeps } from '../deps.ts';

// What a room would refuse of a resource that is made in it, asked of one that comes from a file.

type Problems = readonly FieldProblem[];

/** Ids are compared, joined and put into patterns as they are made here. */
export const idProblems = (record: ExportedRecord, member: string, prefix: string): Problems => {
  const id = String(record[member]);
  return isOwnId(id) && id.startsWith(`${prefix}_`) ? [] : [{ path: member, message: 'Is no ID of this kind.' }];
};

export function apiRecordProblems({ config }: TransferDeps, record: ExportedRecord): Problems {
  const { identifier, name, description, scopes } = record as {
    identifier: string;
    name: string;
    description?: string;
    scopes: readonly (WantedScope & { retired_at?: number })[];
  };
  const used = scopes.filter(({ retired_at }) => retired_at === undefined);
  const retired = scopes.filter(({ retired_at }) => retired_at !== undefined);
  return [
    ...idProblems(record, 'api_id', 'api'),
    ...identifierProblem(identifier, config.baseUrl),
    ...apiProblems({ name, description }),
    ...scopeProblems(used),
    ...retired.flatMap((scope) => scopeProblems([scope])),
  ];
}

/** Values are compared with its rules as they are stored. */
export function attributeRecordProblems(_: TransferDeps, record: ExportedRecord): Problems {
  const attribute = record as unknown as Attribute;
  const { labels, rules } = attribute;
  const wanted = { ...attribute, ...rules };
  const problems = [...idProblems(record, 'attribute_id', 'atr'), ...attributeProblems(wanted)];
  if (problems.length > 0) return problems;
  if (Object.values(labels).some((label) => label !== label.trim()))
    return [{ path: 'labels', message: 'Must have no spaces at their ends.' }];
  return isDeepStrictEqual(rules, rulesOf(wanted))
    ? []
    : [{ path: 'rules', message: 'Must be as an export has them.' }];
}

export function hostProblems(_: TransferDeps, record: ExportedRecord): Problems {
  const { host, allowed_scopes } = record as { host: string; allowed_scopes: readonly string[] };
  const place = allowed_scopes.findIndex((name) => !new RegExp(scopePattern).test(name));
  return [
    ...(isHost(host) ? [] : [{ path: 'host', message: 'Is no host of metadata documents.' }]),
    ...(place < 0 ? [] : [{ path: `allowed_scopes/${place}`, message: 'Is no scope.' }]),
  ];
}

/** As if it were written by its product now. */
export function entitlementProblems(_: TransferDeps, record: ExportedRecord): Problems {
  const { updated_at: _updated, written_at: _written, credential_id: _by, ...write } = record;
  return problemsOf(() => readWrite(write));
}

export function clientProblems(_: TransferDeps, record: ExportedRecord): Problems {
  const { client_id, client_type, pending_change, logo_id } = record;
  const fields = reviewedFields.flatMap((field) => (record[field] === undefined ? [] : [[field, record[field]]]));
  return [
    ...(isClientId(String(client_id)) ? [] : [{ path: 'client_id', message: 'Cannot be a client_id.' }]),
    ...problemsOf(() => readRegistration({ client_type, ...Object.fromEntries(fields) })),
    ...(pending_change ? editProblems('pending_change', pending_change) : []),
    ...secretProblems(record),
    ...(logo_id === undefined || isLogoId(String(logo_id))
      ? []
      : [{ path: 'logo_id', message: 'Is no ID of a picture.' }]),
  ];
}

export const documentProblems = (_: TransferDeps, { fields }: ExportedRecord): Problems =>
  editProblems('fields', fields!);

/** Of reviewed fields alone, some of them. */
function editProblems(member: string, edit: object): Problems {
  const other = Object.keys(edit).find((name) => !reviewedFields.some((field) => field === name));
  const others = other === undefined ? [] : [{ path: '', message: 'Contains what is no reviewed field of a client.' }];
  return [...others, ...problemsOf(() => readClientEdit(edit))].map(({ path, message }) => ({
    path: `${member}/${path}`.replace(/\/$/, ''),
    message,
  }));
}

/** Digests are compared in constant time, which takes those of one length. */
const secretProblems = ({ secrets }: ExportedRecord): Problems =>
  (secrets as readonly { secret_hash: string }[]).flatMap(({ secret_hash }, place) =>
    /^[\w-]{43}$/.test(secret_hash)
      ? []
      : [{ path: `secrets/${place}/secret_hash`, message: 'Must be a SHA-256 in base64url.' }],
  );

export function providerProblems({ config }: TransferDeps, record: ExportedRecord): Problems {
  const { provider_id: id, issuer, label, upstream_client_id: client_id, client_secret } = record;
  const { groups_claim, scope } = record;
  const wanted = { id, issuer, label, client_id, client_secret, groups_claim, scope };
  const read = readNewProvider({ config }, wanted as Parameters<typeof readNewProvider>[1]);
  if (read.problems.length > 0) return read.problems;
  // Identities are kept under it, and a provider of another spelling would be another one.
  if (read.issuer !== issuer) return [{ path: 'issuer', message: `Must be spelled ${read.issuer}` }];
  if (read.label !== label) return [{ path: 'label', message: 'Must be spelled as it is shown.' }];
  return isLogoOfProvider(record) ? [] : [{ path: 'logo', message: 'Is no picture of this type and ID.' }];
}

/** It is sent to browsers as what it says that it is. None has no member of it. */
function isLogoOfProvider({ logo_id = null, logo_type = null, logo = null }: ExportedRecord): boolean {
  if (logo === null) return logo_id === null && logo_type === null;
  const read = readProviderLogo(Buffer.from(String(logo), 'base64'));
  return typeof read === 'object' && read.media_type === logo_type && providerLogoIdOf(read.content) === logo_id;
}

/** It is sent to browsers as what it says that it is. */
export function pictureProblems(_: TransferDeps, record: ExportedRecord): Problems {
  const content = Buffer.from(String(record.content), 'base64');
  const read = content.length <= maxPictureKb * 1024 ? readPicture(content) : undefined;
  return [
    ...idProblems(record, 'picture_id', 'pic'),
    ...(read?.media_type === record.media_type ? [] : [{ path: 'content', message: 'Is no picture of this type.' }]),
  ];
}

export function brandPictureProblems(_: TransferDeps, record: ExportedRecord): Problems {
  const content = Buffer.from(String(record.content), 'base64');
  const read = content.length <= maxPictureKb * 1024 ? readPicture(content) : undefined;
  const isItself = read?.media_type === record.media_type && pictureIdOf(content) === record.picture_id;
  return isItself ? [] : [{ path: 'content', message: 'Is no picture of this type and ID.' }];
}

export function brandVersionProblems(_: TransferDeps, record: ExportedRecord): Problems {
  const settings = { ...plainBrand, ...(record.settings as BrandSettings) };
  const isPicture = ([name, { picture_id, media_type, width, height }]: [string, BrandPicture]) =>
    pictureNames.some((one) => one === name) &&
    /^[0-9a-f]{32}$/.test(picture_id) &&
    /^image\/(?:png|jpeg|webp)$/.test(media_type) &&
    Math.min(width, height) > 0;
  return [
    ...brandProblems(settings),
    ...(record.version_key === String(record.version) ? [] : [{ path: 'version_key', message: 'Is not its version.' }]),
    ...(Object.entries(settings.pictures).every(isPicture)
      ? []
      : [{ path: 'settings', message: 'Has a picture that is none.' }]),
  ];
}

/** Without a picture it says where one may be, or why there is none. */
export function logoRecordProblems(
  _: TransferDeps,
  { url, picture_id, media_type, content }: ExportedRecord,
): Problems {
  const read = content === undefined ? undefined : readLogo(Buffer.from(String(content), 'base64'));
  const isItself =
    read === undefined
      ? picture_id === undefined
      : 'picture_id' in read && read.picture_id === picture_id && read.media_type === media_type;
  return [
    ...(logoUrlProblem(String(url)) === undefined
      ? []
      : [{ path: 'url', message: 'Cannot be the address of a logo.' }]),
    ...(isItself ? [] : [{ path: 'content', message: 'Is no picture of this type and ID.' }]),
  ];
}

export function webhookProblems({ config }: TransferDeps, record: ExportedRecord): Problems {
  const { name = '', url, event_types } = record as { name?: string; url: string; event_types: string[] };
  return problemsOf(() => readTerms({ config }, { name, url, event_types }, ['name', 'url']));
}

export function streamProblems({ config }: TransferDeps, record: ExportedRecord): Problems {
  const { method, endpoint_url, events_requested, authorization_header, description } = record as {
    method: keyof typeof methodUrns;
    events_requested: string[];
  } & Partial<Record<'endpoint_url' | 'authorization_header' | 'description', string>>;
  const delivery = { method: methodUrns[method], endpoint_url, authorization_header };
  return [
    ...idProblems(record, 'stream_id', 'sst'),
    ...problemsOf(() => readStream({ config }, { description, events_requested, delivery })),
  ];
}

export function credentialProblems(deps: TransferDeps, record: ExportedRecord): Problems {
  const given = record as unknown as Parameters<typeof storedProblems>[0] & {
    credential_id: string;
    retired_at?: number;
  };
  return [
    ...(isCredentialId(given.credential_id) ? [] : [{ path: 'credential_id', message: 'Is no ID of this kind.' }]),
    ...storedProblems(given, given.retired_at === undefined ? now(deps) : undefined),
    ...secretProblems(record),
  ];
}

export const administers = ({ permissions: given }: ExportedRecord): boolean =>
  isAdministrative(given as readonly string[]);

function problemsOf(read: () => unknown): Problems {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof RequestError && error.problems.length > 0) return error.problems;
    throw error;
  }
}

export function settingProblems({ settings }: TransferDeps, record: ExportedRecord): Problems {
  const { name, value } = record as { name: string; value: string };
  if (findChangeableSetting(name) === undefined)
    return [{ path: 'name', message: 'Is no setting that is changed while the server runs.' }];
  const message =
    value.trim() === value && value !== '' ? settings.problemOf(name, value) : 'Must be as an export has it.';
  return message === undefined ? [] : [{ path: 'value', message }];
}
