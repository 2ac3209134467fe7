import { requireUser } from '../../accounts/users.ts';
import { operation } from '../../platform/http/operation.ts';
import { list, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { AlertRecord, listAlerts } from '../../self-service/alerts/alerts.ts';
import { administration } from '../operation-parts.ts';
import { userOperand } from './operations.ts';

export const alertOperations = {
  listAlerts: operation({
    ...administration('users:read'),
    parameters: { user_id: 'user_id of any user.' },
    id: 'listUserAlerts',
    method: 'GET',
    path: '/v1/admin/users/:user_id/alerts',
    summary: 'List what a user was asked about',
    description:
      'What happened with the account that may not have been its user, such as a token that came twice, with what is known of it, and what the user has said.',
    answer: {
      description: 'Newest first, of the last 90 days, 200 at most.',
      schema: Type.Object({ alerts: Type.Array(AlertRecord, { description: 'As the user reads them.' }) }),
    },
    refusals: ['not_found'],
    async run(deps, { user_id }) {
      await requireUser(deps, user_id);
      return { alerts: await listAlerts(deps, user_id) };
    },
    command: {
      name: 'alerts list',
      summary: 'List what a user was asked about: tokens that came twice, and the like. Newest first.',
      operands: userOperand,
      text: ({ alerts }) =>
        alerts.length === 0
          ? 'The user was asked about nothing in the last 90 days.'
          : list([
              ['ALERT', 'AT', 'KIND', 'FIRST FROM', 'THEN FROM', 'BY', 'ANSWER'],
              ...alerts.map((each) => [
                each.alert_id,
                time(each.at),
                each.kind,
                each.uses[0]?.address ?? null,
                each.uses[1]?.address ?? null,
                each.uses.at(-1)?.agent ?? null,
                each.answer,
              ]),
            ]),
    },
  }),
};
