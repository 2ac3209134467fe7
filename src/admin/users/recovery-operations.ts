import { requireUser } from '../../accounts/users.ts';
import {
  RecoveryRecord,
  recoveryRecord,
  recoveryUnderWay,
  stopRecoveryOfUser,
} from '../../authentication/factor-recovery/stop-recovery.ts';
import { nullable, operation } from '../../platform/http/operation.ts';
import { table, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration, OptionalReasonBody, reasonExample } from '../operation-parts.ts';
import { userOperand } from './operations.ts';

const path = '/v1/admin/users/:user_id/factor-recovery';
const parameters = { user_id: 'user_id of any user.' };

/** What waits for the removal of a user's second factors. */
export const recoveryOperations = {
  showRecovery: operation({
    ...administration('users:read'),
    id: 'readUserFactorRecovery',
    method: 'GET',
    path,
    parameters,
    summary: 'Get the request of a user to have their second factors removed',
    description: 'From a user who has the password and says that every second factor is lost.',
    answer: {
      description: 'What is under way; null if nothing is.',
      schema: Type.Object({ factor_recovery: nullable(RecoveryRecord) }),
    },
    refusals: ['not_found'],
    async run(deps, { user_id }) {
      await requireUser(deps, user_id);
      const recovery = await recoveryUnderWay(deps, user_id);
      return { factor_recovery: recovery ? recoveryRecord(recovery) : null };
    },
    command: {
      name: 'factor-recovery show',
      summary: "Show a user's request to have their second factors removed, if one is under way.",
      operands: userOperand,
      text: ({ factor_recovery: one }) =>
        one === null
          ? 'No request is under way.'
          : table([
              ['requested', time(one.requested_at)],
              ['possible from', time(one.due_at)],
              ['link works until', time(one.expires_at)],
              ['address', one.address],
              ['device', one.device],
            ]),
    },
  }),

  stopRecovery: operation({
    ...administration('users:write'),
    id: 'stopUserFactorRecovery',
    method: 'DELETE',
    path,
    parameters,
    summary: 'Stop the request of a user to have their second factors removed',
    description: 'All addresses of the account receive an email. Another one can be requested a week later.',
    body: OptionalReasonBody,
    bodyIsOptional: true,
    example: reasonExample,
    answer: { description: 'Stopped: its links no longer work.' },
    refusals: ['not_found'],
    run: (deps, { caller, user_id, body: { reason } }) => stopRecoveryOfUser(deps, caller, user_id, reason),
    command: {
      name: 'factor-recovery stop',
      summary: "Stop a user's request to have their second factors removed.",
      operands: userOperand,
      json: (_, { user_id }) => ({ stopped: user_id }),
      text: () => 'Stopped. The second factors stay.',
    },
  }),
};
