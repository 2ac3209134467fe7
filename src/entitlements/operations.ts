import Type from 'typebox';
import { nullable, type Operation, Time } from '../openapi/operation.ts';

const Entitlement = Type.Object({
  product: Type.String(),
  plan: Type.String(),
  status: Type.Enum(['active', 'past_due', 'canceled', 'expired']),
  current_period_end: nullable(Time),
  source: Type.String(),
});

export const readEntitlements: Operation = {
  tag: 'Entitlements',
  summary: 'What you have subscribed to',
  authentication: ['session'],
  answers: {
    200: { description: 'All of it.', schema: Type.Object({ entitlements: Type.Array(Entitlement) }) },
  },
};
