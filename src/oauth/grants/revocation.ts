import type { Grants } from '../../authentication/ports.ts';
import {
  hasGrantElsewhere,
  revokeGrantsOfClient,
  revokeGrantsOfOtherSessions,
  revokeGrantsOfSession,
  revokeGrantsOfUser,
} from './store.ts';

/** What the rooms below revoke together with a session, a password or a client. */
export const grants: Grants = {
  revokeOfUser: revokeGrantsOfUser,
  revokeOfSession: revokeGrantsOfSession,
  revokeOfOtherSessions: revokeGrantsOfOtherSessions,
  revokeOfClient: revokeGrantsOfClient,
  hasGrantElsewhere,
};
