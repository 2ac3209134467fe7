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
    summary: 'Register a first-party client without an owner. Its secret is printed only once.',
    options: {
      name: { value: 'name', help: 'name shown on the sign-in page', required: true },
      'redirect-uri': { value: 'uri', separator: /\s+/, help: 'where answers may go', required: true },
      scope: { value: 'scope', separator: /[\s,]+/, help: 'allowed scopes; default openid profile email' },
      public: { help: 'for a native app that cannot keep a secret' },
      alg: { value: 'algorithm', oneOf: ['EdDSA', 'RS256'], help: 'signing algorithm of its tokens; default EdDSA' },
      approve: { help: 'approve the client immediately' },
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
    summary: 'Edit a client without an owner. The approved revision stays in effect until the change is approved.',
    operands: { client_id: { value: 'client_id' } },
    options: {
      name: { value: 'name', help: 'name shown on the sign-in page' },
      'redirect-uri': { value: 'uri', separator: /\s+/, help: 'all redirect URIs; replaces the current ones' },
      scope: { value: 'scope', separator: /[\s,]+/, help: 'all allowed scopes; replaces the current ones' },
      'logo-url': { value: 'uri', help: 'empty: none' },
      'homepage-url': { value: 'uri', help: 'empty: none' },
      alg: { value: 'algorithm', oneOf: ['EdDSA', 'RS256'], help: 'signing algorithm of its tokens' },
      approve: { help: 'approve the change immediately' },
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
      if (changes.length === 0) throw new UsageError('Nothing to change: give at least one option.');
      const target = { client_id, owner_user_id: null, caller };
      const edited = await editClient(deps, target, readClientEdit(Object.fromEntries(changes)));
      const waits = edited.status === 'pending_review' || edited.pending_change !== null;
      if (!given.approve || !waits) return report(edited);
      return report(await approveClient(deps, { client_id, caller }, { revision: edited.revision }));
    },
  }),
};
