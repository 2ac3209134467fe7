import Type from 'typebox';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { signedIn } from './session.ts';

/** As `sessionRecord` tells of one. */
export const SessionRecord = Type.Object({
  session_id: Type.String(),
  device: nullable(Type.String({ description: 'Browser and system, as far as its User-Agent tells.' })),
  address: nullable(Type.String({ description: 'Where it signed in from.' })),
  created_at: Time,
  auth_time: Time,
  last_seen_at: Time,
  expires_at: Time,
  amr: Type.Array(Type.String()),
  acr: Type.String(),
});
const OwnSession = Type.Object({
  ...SessionRecord.properties,
  current: Type.Boolean({ description: 'The session of this very request.' }),
});

const shared = { tag: 'Account', access: [signedIn] } as const;

/** What is said when something ends with its tokens. */
export const ended = {
  answers: { 204: { description: 'It has ended, on every node.' } },
  refusals: ['not_found'],
} as const satisfies Partial<OperationDescription>;

export const listSessions: OperationDescription = {
  ...shared,
  summary: 'Your live sessions, last used first',
  answers: { 200: { description: 'All of them.', schema: Type.Object({ sessions: Type.Array(OwnSession) }) } },
};

export const endSession: OperationDescription = {
  ...shared,
  summary: 'End one of your sessions and every grant that came from it',
  parameters: { session_id: { description: 'As in the list.' } },
  ...ended,
};

export const endOtherSessions: OperationDescription = {
  ...shared,
  summary: 'Sign out everywhere but here',
  description: 'Ends every other session, and every grant that did not come from this one.',
  answers: {
    200: {
      description: 'How many sessions that were.',
      schema: Type.Object({ ended: Type.Integer({ minimum: 0 }) }),
    },
  },
};
