import Type from 'typebox';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation.ts';
import { signedIn } from './session.ts';

/** As `sessionRecord` tells of one. */
export const SessionRecord = Type.Object({
  session_id: Type.String(),
  device: nullable(Type.String({ description: 'Browser and operating system, from the User-Agent header.' })),
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
  current: Type.Boolean({ description: 'Whether this is the session of the request.' }),
});

const shared = { tag: 'Account', access: [signedIn] } as const;

/** What is said when something ends with its tokens. */
export const ended = {
  answers: { 204: { description: 'The session has ended on every node.' } },
  refusals: ['not_found'],
} as const satisfies Partial<OperationDescription>;

export const listSessions: OperationDescription = {
  ...shared,
  summary: 'List your active sessions',
  answers: {
    200: {
      description: 'The active sessions, last used first.',
      schema: Type.Object({ sessions: Type.Array(OwnSession) }),
    },
  },
};

export const endSession: OperationDescription = {
  ...shared,
  summary: 'End one of your sessions and the grants that came from it',
  parameters: { session_id: { description: 'As in the list.' } },
  ...ended,
};

export const endOtherSessions: OperationDescription = {
  ...shared,
  summary: 'Sign out everywhere else',
  description: 'Ends every other session and every grant that did not come from this session.',
  answers: {
    200: {
      description: 'Number of ended sessions.',
      schema: Type.Object({ ended: Type.Integer({ minimum: 0 }) }),
    },
  },
};
