import { consentPolicies } from '../../clients/choices.ts';
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
  consent: Type.Enum([...consentPolicies]),
  refresh_retry_window: Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds.' }),
});

export const one = { ...administration, parameters: anyClient };
export const changed = { description: 'The client after the change.', schema: ReviewedRecord };
