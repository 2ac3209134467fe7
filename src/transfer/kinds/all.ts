import {
  claimOfUserName,
  exportedHandles,
  exportedPictures,
  exportedProvisioned,
  exportedRoles,
  showPicture,
} from '../../accounts/statements.ts';
import { maxApis } from '../../apis/api-rules.ts';
import { exportedApis } from '../../apis/statements.ts';
import { maxAttributes } from '../../attributes/attribute.ts';
import { exportedAttributes } from '../../attributes/statements.ts';
import { exportedBackupCodes, exportedProviders, mostProviders } from '../../authentication/statements.ts';
import {
  exportedPictures as exportedBrandPictures,
  exportedVersions as exportedBrandVersions,
} from '../../brand/statements.ts';
import { maxHosts } from '../../clients/from-outside/approved-hosts.ts';
import {
  exportedClients,
  exportedDocuments,
  exportedHosts,
  exportedLogos,
  exportedSuspensions,
} from '../../clients/statements.ts';
import { type KindName, singleKinds } from '../../declared/kind.ts';
import { exportedDeclared } from '../../declared/statements.ts';
import { exportedCredentials, exportedEntitlements, exportedVersions } from '../../entitlements/statements.ts';
import { groupProblems, maxGroups } from '../../groups/group.ts';
import { exportedGroups, exportedMembers } from '../../groups/statements.ts';
import { exportedConsents } from '../../oauth/statements.ts';
import { picturesPath } from '../../platform/pages/initials.ts';
import { exportedSettings } from '../../platform/settings/statements.ts';
import { isFixed } from '../../settings/change-setting.ts';
import { exportedExclusions, exportedStreams } from '../../signals/statements.ts';
import { exportedWebhooks } from '../../webhooks/statements.ts';
import { backupCodeKeyKind } from './backup-code-key.ts';
import { all, type Kind, refer, tableKind } from './kind.ts';
import {
  administers,
  apiRecordProblems,
  attributeRecordProblems,
  brandPictureProblems,
  brandVersionProblems,
  clientProblems,
  credentialProblems,
  documentProblems,
  entitlementProblems,
  hostProblems,
  idProblems,
  logoRecordProblems,
  pictureProblems,
  providerProblems,
  settingProblems,
  streamProblems,
  webhookProblems,
} from './problems.ts';
import { userKind } from './user.ts';

const ofUser = refer('user', 'user_id');

/** The record of what a file declares; of that of which there is one, none. */
const recordOf = {
  groups: 'group',
  attributes: 'attribute',
  apis: 'api',
  clients: 'client',
  client_hosts: 'approved_host',
  service_credentials: 'service_credential',
  providers: 'provider',
  webhooks: 'webhook',
} as const satisfies Readonly<Record<Exclude<KindName, 'brand' | 'settings'>, string>>;
const isDeclared = (kind: unknown): kind is keyof typeof recordOf => Object.hasOwn(recordOf, String(kind));
const isSingle = (kind: unknown): boolean => singleKinds.some((one) => one === kind);

/** In the order of the file: each record comes after those that it refers to. */
export const kinds: readonly Kind[] = [
  tableKind({
    name: 'group',
    description: 'A group. Its members are `group_member`.',
    table: exportedGroups,
    isReferredTo: true,
    most: maxGroups,
    problems: (_, record) => [...idProblems(record, 'group_id', 'grp'), ...groupProblems(record as { name: string })],
    takenMessage: 'There is a group of this ID or name here already, or there are as many as there may be.',
  }),
  tableKind({
    name: 'api',
    description: 'An API with its scopes, retired ones too: no other API may ever have their names.',
    table: exportedApis,
    isReferredTo: true,
    most: maxApis,
    problems: apiRecordProblems,
    takenMessage:
      'There is an API of this ID, identifier or one of these scopes here already, or there are as many as there may be.',
  }),
  tableKind({
    name: 'attribute',
    description: 'An attribute of users that is defined. The values are in the record of each user, by its name.',
    table: exportedAttributes,
    isReferredTo: true,
    most: maxAttributes,
    problems: attributeRecordProblems,
    takenMessage: 'There is an attribute of this ID or name here already, or there are as many as there may be.',
    stored: ({ attributes }) => attributes.forget(),
  }),
  tableKind({
    name: 'service_credential',
    description: 'A service credential with the hashes of its secrets: SHA-256 in base64url.',
    table: exportedCredentials,
    isReferredTo: true,
    references: refer('api', 'api_id'),
    problems: credentialProblems,
    omission: (record, { roles }) => (!roles && administers(record) ? 'It administers: see --roles.' : undefined),
  }),
  tableKind({
    name: 'provider',
    description:
      'A provider to sign in with that is not one of the settings, with the secret that this service has there.',
    table: exportedProviders,
    isReferredTo: true,
    most: mostProviders,
    problems: providerProblems,
    omission: (_, { roles }) => (roles ? undefined : 'It decides who signs in: see --roles.'),
    takenMessage: 'There is a provider of this ID or issuer here already, or there are as many as there may be.',
    stored: ({ providers }) => providers.forget(),
  }),
  userKind,
  tableKind({
    name: 'role',
    description: 'The role of a user who may administer.',
    table: exportedRoles,
    changesRow: true,
    references: ofUser,
    omission: (_, { roles }) => (roles ? undefined : 'Roles are given with --roles alone.'),
    takenMessage: 'This user has a role here already.',
  }),
  tableKind({
    name: 'group_member',
    description: 'That a user is in a group; `provider` if the claims of one say so.',
    table: exportedMembers,
    references: all(refer('group', 'group_id'), ofUser),
  }),
  tableKind({
    name: 'picture',
    description: 'The picture that a user has uploaded, in base64.',
    table: exportedPictures,
    references: ofUser,
    problems: pictureProblems,
    beside: ({ config }, { user_id, picture_id }) => [
      showPicture(String(user_id), `${config.baseUrl}${picturesPath}/${picture_id}`),
    ],
  }),
  backupCodeKeyKind,
  tableKind({
    name: 'backup_code',
    description: 'The hash of a backup code, under a `backup_code_key`.',
    table: exportedBackupCodes,
    references: ofUser,
  }),
  tableKind({
    name: 'scim_user',
    description: 'What a directory calls a user (SCIM).',
    table: exportedProvisioned,
    references: ofUser,
    claims: ({ db }, { user_name_key }) => [claimOfUserName(db, String(user_name_key))],
    takenMessage: 'A directory calls somebody else so here.',
  }),
  tableKind({
    name: 'released_username',
    description: 'The SHA-256, in base64url, of a username that was given up and that nobody else gets for a while.',
    table: exportedHandles,
  }),
  tableKind({
    name: 'client',
    description: 'A client in any status, with the hashes of its secrets: SHA-256 in base64url.',
    table: exportedClients,
    isReferredTo: true,
    references: all(refer('user', 'owner_user_id'), refer('group', 'allowed_groups', 'visible_groups')),
    problems: clientProblems,
    takenMessage: 'There is another client of this client_id here.',
  }),
  tableKind({
    name: 'client_logo',
    description:
      'A picture that was fetched from the `logo_url` of a client, in base64: for its reviewer, or for its users.',
    table: exportedLogos,
    problems: logoRecordProblems,
    references: refer('client', 'client_id'),
  }),
  tableKind({
    name: 'client_document',
    description: 'What the document at the client_id of a client has said last.',
    table: exportedDocuments,
    problems: documentProblems,
    references: refer('client', 'client_id'),
  }),
  tableKind({
    name: 'approved_host',
    description: 'A host whose documents make clients that are approved.',
    table: exportedHosts,
    isReferredTo: true,
    most: maxHosts,
    problems: hostProblems,
    takenMessage: 'This host is here already, or there are as many as there may be.',
  }),
  tableKind({
    name: 'remembered_suspension',
    description: 'A client that was suspended when it was deleted, which reviews compare with.',
    table: exportedSuspensions,
  }),
  tableKind({
    name: 'entitlement',
    description: 'An entitlement as it is.',
    table: exportedEntitlements,
    references: ofUser,
    problems: entitlementProblems,
  }),
  tableKind({
    name: 'entitlement_version',
    description: 'A write of an entitlement that was applied: its history.',
    table: exportedVersions,
    references: ofUser,
    problems: entitlementProblems,
  }),
  tableKind({
    name: 'consent',
    description: 'What a user has allowed a client.',
    table: exportedConsents,
    references: all(ofUser, refer('client', 'client_id')),
  }),
  tableKind({
    name: 'webhook',
    description: 'A webhook with its secret.',
    table: exportedWebhooks,
    isReferredTo: true,
    problems: (deps, record) => [...idProblems(record, 'webhook_id', 'wh'), ...webhookProblems(deps, record)],
  }),
  tableKind({
    name: 'signal_stream',
    description: 'A stream of security events, with the header that its pushes carry.',
    table: exportedStreams,
    isReferredTo: true,
    references: (record) =>
      record.client_id === undefined
        ? refer('service_credential', 'credential_id')(record)
        : refer('client', 'client_id')(record),
    problems: streamProblems,
    takenMessage: 'There is a stream of this ID or service credential here already.',
  }),
  tableKind({
    name: 'signal_exclusion',
    description: 'A user of whom the receiver of a stream wants to hear nothing.',
    table: exportedExclusions,
    references: all(ofUser, refer('signal_stream', 'stream_id')),
  }),
  tableKind({
    name: 'brand_picture',
    description: 'A picture of the brand, in base64.',
    table: exportedBrandPictures,
    problems: brandPictureProblems,
  }),
  tableKind({
    name: 'brand_version',
    description: 'What the service looked like and was called: the newest counts.',
    table: exportedBrandVersions,
    problems: brandVersionProblems,
    takenMessage: 'This server has a brand of its own.',
    stored: ({ branding }) => branding.forget(),
  }),
  tableKind({
    name: 'setting',
    description: 'A setting that was changed while the server ran, as it would be in the environment.',
    table: exportedSettings,
    changesRow: true,
    problems: settingProblems,
    omission: ({ name }, _, deps) =>
      isFixed(deps, String(name)) ? 'The environment of this server sets it, and wins.' : undefined,
    takenMessage: 'This setting was changed here, too.',
  }),
  tableKind({
    name: 'declared_resource',
    description: 'Which resource a key in the files of `signet apply` means.',
    table: exportedDeclared,
    problems: (_, { kind }) =>
      isDeclared(kind) || isSingle(kind) ? [] : [{ path: 'kind', message: 'Is no kind of resource.' }],
    references: ({ kind, resource_id }) =>
      isDeclared(kind) ? [{ kind: recordOf[kind], id: String(resource_id), path: 'resource_id' }] : [],
    dangling: 'left_out',
  }),
];

export const kindOf: ReadonlyMap<string, Kind> = new Map(kinds.map((kind) => [kind.name, kind]));
export type { Kind } from './kind.ts';
