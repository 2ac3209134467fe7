import Type from 'typebox';
import { algorithms } from '../../clients/signing-algorithm.ts';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { administrationAccess } from '../operation-parts.ts';

const KeyRecord = Type.Object({
  kid: Type.String(),
  algorithm: Type.Enum([...algorithms]),
  status: Type.Enum(['next', 'active', 'retiring']),
  created_at: Time,
  activated_at: nullable(Time),
  retired_at: nullable(Time),
});

export const list: OperationDescription = {
  ...administrationAccess,
  summary: 'The signing keys',
  answers: {
    200: { description: 'Public parts alone, by algorithm.', schema: Type.Object({ keys: Type.Array(KeyRecord) }) },
  },
};

export const rotate: OperationDescription = {
  ...administrationAccess,
  summary: 'Let the next signing keys sign now',
  description: 'A key that was published less than 15 minutes ago waits: relying parties may not have seen it.',
  answers: {
    200: {
      description: '`rotated` names the keys that stopped signing; none if the next ones are too young.',
      schema: Type.Object({ rotated: Type.Array(Type.String()), keys: Type.Array(KeyRecord) }),
    },
  },
  refusals: ['invalid_request'],
};
