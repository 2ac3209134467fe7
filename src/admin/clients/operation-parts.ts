import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { clientOrigins, consentPolicies, logoProblems, profiles } from '../../clients/choices.ts';
import { maxLogoKb } from '../../clients/logos.ts';
import { ClientRecord } from '../../developer/api/operations.ts';
import { nullable, Time } from '../../platform/http/operation.ts';
import { Type } from '../../platform/schema.ts';
import { administration, anyClient } from '../operation-parts.ts';

/** A client as administrators read it. */
export const ReviewedRecord = Type.Object({
  ...ClientRecord.properties,
  owner_user_id: nullable(
    Type.String({ description: 'Null for a first-party client, and once its owner is deleted.' }),
  ),
  origin: nullable(
    Type.Enum([...clientOrigins], {
      description:
        'How it came without being registered by anyone: `metadata_document` (its `client_id` is the URL) or `registration` (RFC 7591). ' +
        'Null for any other client.',
    }),
  ),
  review_asked_at: nullable(
    Type.Integer({ minimum: 0, description: 'Unix seconds. When a user asked for the review of one that came so.' }),
  ),
  consent: Type.Enum([...consentPolicies]),
  refresh_retry_window: Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds.' }),
  profile: nullable(Type.Enum([...profiles], { description: 'The security profile that it is held to.' })),
  allowed_groups: nullable(
    Type.Array(Type.String(), { description: 'IDs of the groups whose members alone may use it; null: everyone may.' }),
  ),
  visible_groups: nullable(
    Type.Array(Type.String(), {
      description: 'IDs of the groups that it sees in the claim `groups`, if its users are in them; null: all.',
    }),
  ),
  logo_id: nullable(Type.String({ description: 'The picture that users see of it, under `/logos/`; null: none.' })),
});

/** What has become of the address of its logo. */
export const LogoRecord = Type.Object({
  url: Type.String({ description: 'The address: that of the pending change, if it has another one.' }),
  picture_id: nullable(Type.String({ description: 'SHA-256 of the picture, its first 32 digits; null without one.' })),
  media_type: nullable(Type.String({ description: '`image/png`, `image/jpeg` or `image/webp`.' })),
  width: nullable(Type.Integer({ minimum: 0, description: 'Pixels.' })),
  height: nullable(Type.Integer({ minimum: 0, description: 'Pixels.' })),
  bytes: nullable(Type.Integer({ minimum: 0, description: 'Of the picture, without what was left out of the file.' })),
  fetched_at: nullable(Time),
  problem: nullable(
    Type.Enum([...logoProblems], {
      description:
        'Why there is none, or why what users see could not be fetched again: an address inside the network, a host that could not be reached, a redirect, another status than 200, ' +
        `an answer of more than a second, a file of more than ${maxLogoKb} KB, one that is no PNG, JPEG or WebP, or dimensions that do not fit.`,
    }),
  ),
  detail: nullable(Type.String({ description: 'What the answer said, such as its status.' })),
  is_shown: Type.Boolean({ description: 'Whether users see this picture.' }),
  is_waiting: Type.Boolean({ description: 'Whether it will be fetched, or tried again, without being asked to.' }),
});

export const one = (permission: AdministrativePermission) => ({ ...administration(permission), parameters: anyClient });
export const changed = { description: 'The client after the change.', schema: ReviewedRecord };
