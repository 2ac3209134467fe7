import { editClient } from '../clients/edit-client.ts';
import { addSecret, listSecrets, overlaps, retireSecret } from '../clients/manage-secrets.ts';
import { readClientEdit } from '../clients/registration.ts';
import { approveClient } from '../clients/review-client.ts';
import { listed, shownOnce, time } from '../platform/cli/report.ts';
import { client, report, target } from './clients.ts';
import { command, UsageError } from './command.ts';

const ownerlessTarget = (client_id: string) => ({ ...target(client_id), owner_user_id: null });

/** What owners do with their clients, for those that have none. */
export const firstPartyClientCommands = {
  'clients edit': command({
    summary: 'Changes a client without an owner. What was approved serves until the change is approved, too.',
    operands: client,
    options: {
      name: { value: 'name', help: 'what people read on the sign-in page' },
      'redirect-uri': { value: 'uri', between: /\s+/, help: 'all of them: they replace those of before' },
      scope: { value: 'scope', between: /[\s,]+/, help: 'all that it may ask for' },
      'logo-url': { value: 'uri', help: 'empty: none' },
      'homepage-url': { value: 'uri', help: 'empty: none' },
      alg: { value: 'algorithm', oneOf: ['EdDSA', 'RS256'], help: 'what its tokens are signed with' },
      approve: { help: 'you have reviewed it: it is in force at once' },
    },
    async run(deps, { client_id, ...given }) {
      const wanted = {
        name: given.name,
        redirect_uris: given['redirect-uri'],
        allowed_scopes: given.scope,
        logo_url: given['logo-url'] === '' ? null : given['logo-url'],
        homepage_url: given['homepage-url'] === '' ? null : given['homepage-url'],
        id_token_signed_response_alg: given.alg,
      };
      const changes = Object.entries(wanted).filter(([, value]) => value !== undefined);
      if (changes.length === 0) throw new UsageError('Nothing to change: name at least one field.');
      const edited = await editClient(deps, ownerlessTarget(client_id), readClientEdit(Object.fromEntries(changes)));
      const waits = edited.status === 'pending_review' || edited.pending_change !== null;
      if (!given.approve || !waits) return report(edited);
      return report(await approveClient(deps, target(client_id), { revision: edited.revision }));
    },
  }),
  'clients secrets list': command({
    summary: 'Lists the secrets that work of a client without an owner, never the secrets themselves.',
    operands: client,
    run: async (deps, { client_id }) =>
      listed('secrets', await listSecrets(deps, client_id, null), ['SECRET', 'CREATED', 'ENDS'], (one) => [
        one.secret_id,
        time(one.created_at),
        time(one.expires_at),
      ]),
  }),
  'clients secrets add': command({
    summary: 'Gives a client without an owner one more secret, printed this once. The one before goes on.',
    operands: client,
    async run(deps, { client_id }) {
      const { secret, client_secret } = await addSecret(deps, ownerlessTarget(client_id));
      return {
        json: { ...secret, client_secret },
        text: shownOnce({ secret_id: secret.secret_id, client_secret }),
      };
    },
  }),
  'clients secrets retire': command({
    summary: 'Ends a secret of a client without an owner, at once or after an overlap. One always stays.',
    operands: { ...client, secret_id: { value: 'secret_id' } },
    options: {
      overlap: { value: 'seconds', whole: [0, overlaps.week], help: 'how long it still works; 0 without it' },
    },
    async run(deps, { client_id, secret_id, overlap = 0 }) {
      const retired = await retireSecret(deps, { ...ownerlessTarget(client_id), secret_id, overlapSeconds: overlap });
      return { json: retired, text: `${secret_id} ends at ${time(retired.expires_at)}.` };
    },
  }),
};
