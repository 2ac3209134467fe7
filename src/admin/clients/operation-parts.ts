import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { clientOrigins, consentPolicies, profiles } from '../../clients/choices.ts';
import { ClientRecord } from '../../developer/api/operations.ts';
import { nullable } from '../../platform/http/operation.ts';
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
});

export const one = (permission: AdministrativePermission) => ({ ...administration(permission), parameters: anyClient });
export const changed = { description: 'The client after the change.', schema: ReviewedRecord };
