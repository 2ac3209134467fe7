import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { cursor, limit } from '../../platform/http/paging.ts';
import { listRefusals } from '../../platform/mail/refusals.ts';
import { list, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration } from '../operation-parts.ts';

export const Refusal = Type.Object({
  email: Type.String({ description: 'The address, as the mail was sent to.' }),
  answer: Type.String({ description: 'What the mail server answered last. Display it as plain text.' }),
  first_at: Time,
  last_at: Time,
  count: Type.Integer({ minimum: 1, description: 'How many mails were refused since one was accepted.' }),
});

export const mailOperations = {
  listRefusals: operation({
    ...administration('users:read'),
    id: 'listRefusedAddresses',
    method: 'GET',
    path: '/v1/admin/refused-addresses',
    summary: 'List addresses that mail servers refuse',
    description:
      'A mail to each of them was refused for good, and was not retried. An entry ends when a mail to the address is accepted, ' +
      'or 30 days after the last refusal.',
    query: { before: cursor, limit },
    answer: {
      description: 'The last refusal first. `next` is `before` of the next page.',
      schema: Type.Object({
        refused: Type.Array(Refusal, { description: 'One entry for each address.' }),
        next: nullable(Type.String()),
      }),
    },
    refusals: ['invalid_request'],
    async run(deps, { query }) {
      const { refusals, next = null } = await listRefusals(deps, query);
      return { refused: refusals, next };
    },
    command: {
      name: 'mail refused',
      summary:
        'List addresses to which mail was refused for good, and what the mail server answered; the last one first.',
      fixed: { before: undefined },
      json: ({ refused }) => ({ refused }),
      text: ({ refused }) =>
        refused.length === 0
          ? 'None.'
          : list([
              ['EMAIL', 'LAST', 'COUNT', 'ANSWER'],
              ...refused.map(({ email, last_at, count, answer }) => [email, time(last_at), count, answer]),
            ]),
    },
  }),
};
