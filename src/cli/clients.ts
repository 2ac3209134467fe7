import { describeClient } from '../admin/clients/command-text.ts';
import { type Client, reviewedRecord } from '../clients/client.ts';
import { editClient } from '../clients/edit-client.ts';
import { registerClient } from '../clients/register-client.ts';
import { readClientEdit, readRegistration } from '../clients/registration.ts';
import { approveClient } from '../clients/review-client.ts';
import { type Report, shownOnce } from '../platform/cli/report.ts';
import { command, UsageError } from './command.ts';

const caller = { actor: 'cli' } as const;

const report = (client: Client): Report => ({
  json: reviewedRecord(client),
  text: describeClient(reviewedRecord(client)),
});

/** The commands about clients that do more than one operation of the API. */
export const clientCommands = {
  'clients create': command({
    summary: 'Register a first-party client, which no account owns. Its secret is printed once.',
    options: {
      name: { value: 'name', help: 'what people read on the sign-in page', required: true },
      'redirect-uri': { value: 'uri', separator: /\s+/, help: 'where answers may go', required: true },
      scope: { value: 'scope', separator: /[\s,]+/, help: 'what it may ask for; openid profile email without it' },
      public: { help: 'it cannot keep a secret: a native app' },
      alg: { value: 'algorithm', oneOf: ['EdDSA', 'RS256'], help: 'what its tokens are signed with; EdDSA without it' },
      approve: { help: 'you have reviewed it: it may start sign-ins at once' },
    },
    async run(deps, given) {
      const registration = readRegistration({
        name: given.name,
        client_type: given.public ? 'public' : 'confidential',
        redirect_uris: given['redirect-uri'],
        allowed_scopes: given.scope,
        id_token_signed_response_alg: given.alg,
      });
      const { client, client_secret } = await registerClient(deps, { owner_user_id: null, caller }, registration);
      const { client_id, revision } = client;
      const created = given.approve ? await approveClient(deps, { client_id, caller }, { revision }) : client;
      const { json, text } = report(created);
      const secret = client_secret === null ? '' : `\n\n${shownOnce({ client_secret })}`;
      return { json: { ...(json as object), client_secret }, text: text + secret };
    },
  }),
  'clients edit': command({
    summary: 'Edit a client without an owner. The approved version stays in force until the change is approved, too.',
    operands: { client_id: { value: 'client_id' } },
    options: {
      name: { value: 'name', help: 'what people read on the sign-in page' },
      'redirect-uri': { value: 'uri', separator: /\s+/, help: 'all of them: they replace those of before' },
      scope: { value: 'scope', separator: /[\s,]+/, help: 'all that it may ask for' },
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
      const target = { client_id, owner_user_id: null, caller };
      const edited = await editClient(deps, target, readClientEdit(Object.fromEntries(changes)));
      const waits = edited.status === 'pending_review' || edited.pending_change !== null;
      if (!given.approve || !waits) return report(edited);
      return report(await approveClient(deps, { client_id, caller }, { revision: edited.revision }));
    },
  }),
};
