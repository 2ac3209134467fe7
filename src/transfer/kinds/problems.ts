import { readNewProvider } from '../../authentication/federation/provider-rules.ts';
import { isClientId, reviewedFields } from '../../clients/client.ts';
import { readClientEdit, readRegistration } from '../../clients/registration.ts';
import {
  isAdministrative,
  isCredentialId,
  permissions,
} from '../../entitlements/service-credentials/service-credential.ts';
import type { ExportedRecord } from '../../platform/db/exported-table.ts';
import { type FieldProblem, RequestError } from '../../platform/errors.ts';
import { isOwnId } from '../../platform/ids.ts';
import { maxPictureKb, readPicture } from '../../platform/picture-files.ts';
import { readTerms } from '../../webhooks/terms.ts';
import type { TransferDeps } from '../deps.ts';

// What a room would refuse of a resource that is made in it, asked of one that comes from a file.

type Problems = readonly FieldProblem[];

/** Ids are compared, joined and put into patterns as they are made here. */
export const idProblems = (record: ExportedRecord, member: string, prefix: string): Problems => {
  const id = String(record[member]);
  return isOwnId(id) && id.startsWith(`${prefix}_`) ? [] : [{ path: member, message: 'Is no ID of this kind.' }];
};

export function clientProblems(_: TransferDeps, record: ExportedRecord): Problems {
  const { client_id, client_type, pending_change } = record;
  const fields = reviewedFields.flatMap((field) => (record[field] === undefined ? [] : [[field, record[field]]]));
  return [
    ...(isClientId(String(client_id)) ? [] : [{ path: 'client_id', message: 'Cannot be a client_id.' }]),
    ...problemsOf(() => readRegistration({ client_type, ...Object.fromEntries(fields) })),
    ...(pending_change ? editProblems('pending_change', pending_change) : []),
    ...secretProblems(record),
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
  return readNewProvider({ config }, wanted as Parameters<typeof readNewProvider>[1]).problems;
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

export function webhookProblems({ config }: TransferDeps, record: ExportedRecord): Problems {
  const { name = '', url, event_types } = record as { name?: string; url: string; event_types: string[] };
  return problemsOf(() => readTerms({ config }, { name, url, event_types }, ['name', 'url']));
}

export function credentialProblems(_: TransferDeps, record: ExportedRecord): Problems {
  const { credential_id, permissions: given } = record as { credential_id: string; permissions: readonly string[] };
  const known: readonly string[] = permissions;
  const unknown = given.findIndex((one) => !known.includes(one));
  return [
    ...(isCredentialId(credential_id) ? [] : [{ path: 'credential_id', message: 'Is no ID of this kind.' }]),
    ...(unknown < 0 ? [] : [{ path: `permissions/${unknown}`, message: 'Is no permission.' }]),
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
