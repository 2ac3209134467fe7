import { editClient } from '../clients/edit-client.ts';
import { addSecret, listSecrets, overlaps, retireSecret } from '../clients/manage-secrets.ts';
import { readClientEdit } from '../clients/registration.ts';
import { approveClient } from '../clients/review-client.ts';
import { report, target } from './clients.ts';
import { type Command, readNumber, table, time, UsageError, words } from './command.ts';

const ofNobody = (client_id: string) => ({ ...target(client_id), owner_user_id: null });

/** What owners do with their clients, for those that have none. */
export const ownerlessClientCommands: Record<string, Command> = {
  'clients edit': {
    usage:
      'clients edit <client_id> [--name <name>] [--redirect-uri "<uri> ..."] [--scope "<scope> ..."] [--logo-url <uri>] [--homepage-url <uri>] [--alg RS256] [--approve]',
    summary: 'Changes a client without an owner. What was approved serves until the change is approved, too.',
    operands: ['client_id'],
    options: {
      name: { type: 'string', help: 'what people read on the sign-in page' },
      'redirect-uri': { type: 'string', help: 'all of them, between spaces; they replace those of before' },
      scope: { type: 'string', help: 'all that it may ask for' },
      'logo-url': { type: 'string', help: 'empty: none' },
      'homepage-url': { type: 'string', help: 'empty: none' },
      alg: { type: 'string', help: 'EdDSA or RS256' },
      approve: { type: 'boolean', help: 'you have reviewed it: it is in force at once' },
    },
    async run(deps, values, [client_id = '']) {
      const wanted = {
        name: values.name,
        redirect_uris: values['redirect-uri'] === undefined ? undefined : words(values['redirect-uri']),
        allowed_scopes: values.scope === undefined ? undefined : words(values.scope),
        logo_url: values['logo-url'] === '' ? null : values['logo-url'],
        homepage_url: values['homepage-url'] === '' ? null : values['homepage-url'],
        id_token_signed_response_alg: values.alg,
      };
      const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
      if (given.length === 0) throw new UsageError('Nothing to change: name at least one field.');
      const edited = await editClient(deps, ofNobody(client_id), readClientEdit(Object.fromEntries(given)));
      const waits = edited.status === 'pending_review' || edited.pending_change !== null;
      if (!values.approve || !waits) return report(edited);
      return report(await approveClient(deps, target(client_id), { revision: edited.revision }));
    },
  },
  'clients secrets list': {
    usage: 'clients secrets list <client_id>',
    summary: 'Lists the secrets that work of a client without an owner, never the secrets themselves.',
    operands: ['client_id'],
    async run(deps, _values, [client_id = '']) {
      const secrets = await listSecrets(deps, client_id, null);
      const rows = secrets.map((one) => [one.secret_id, time(one.created_at), time(one.expires_at)]);
      return { json: { secrets }, text: table([['SECRET', 'CREATED', 'ENDS'], ...rows]) };
    },
  },
  'clients secrets add': {
    usage: 'clients secrets add <client_id>',
    summary: 'Gives a client without an owner one more secret, printed this once. The one before goes on.',
    operands: ['client_id'],
    async run(deps, _values, [client_id = '']) {
      const { secret, client_secret } = await addSecret(deps, ofNobody(client_id));
      return {
        json: { ...secret, client_secret },
        text: `${secret.secret_id}\n\nThe secret, shown this once:\n  ${client_secret}`,
      };
    },
  },
  'clients secrets retire': {
    usage: 'clients secrets retire <client_id> <secret_id> [--overlap <seconds>]',
    summary: 'Ends a secret of a client without an owner, at once or after an overlap. One always stays.',
    operands: ['client_id', 'secret_id'],
    options: { overlap: { type: 'string', help: `0 (default) to ${overlaps.week}: seconds in which it still works` } },
    async run(deps, values, [client_id = '', secret_id = '']) {
      const overlapSeconds = readNumber('overlap', values.overlap) ?? 0;
      if (overlapSeconds > overlaps.week) throw new UsageError(`--overlap takes 0 to ${overlaps.week}.`);
      const retired = await retireSecret(deps, { ...ofNobody(client_id), secret_id, overlapSeconds });
      return { json: retired, text: `${secret_id} ends at ${time(retired.expires_at)}.` };
    },
  },
};
