import type { Deps } from '../app/deps.ts';
import { allCredentials } from '../entitlements/service-credentials/list-credentials.ts';
import {
  changeCredentialTerms,
  createCredential,
  findCredential,
  longestOverlapSeconds,
  retire,
  rotateCredential,
} from '../entitlements/service-credentials/manage-credential.ts';
import { credentialRecord, permissions } from '../entitlements/service-credentials/service-credential.ts';
import { command } from '../platform/cli/command.ts';
import { done, listed, type Report, shownOnce, table, time } from '../platform/cli/report.ts';

const caller = { actor: 'cli' } as const;
const credential = { client_id: { value: 'client_id' } } as const;
const statusOf = ({ retired_at }: { retired_at: number | null }) => (retired_at === null ? 'active' : 'retired');

const terms = {
  permission: { value: 'permission', between: /[\s,]+/, help: permissions.join(' or '), required: true },
  product: {
    value: 'product',
    between: 'never', // spaces and commas belong to its name
    help: 'which product it may write entitlements of',
  },
} as const;

/** Those with other characters than letters, digits and few signs stand in quotes, so that each can be told apart. */
const printedProducts = (products: readonly string[]) =>
  products.map((one) => (/^[\w.:-]+$/.test(one) ? one : JSON.stringify(one))).join(' ') || '-';

async function show(deps: Deps, client_id: string): Promise<Report> {
  const one = credentialRecord(await findCredential(deps, client_id));
  const text = table([
    ['Client', one.client_id],
    ['Name', one.name],
    ['Status', statusOf(one)],
    ['Permissions', one.permissions.join(' ')],
    ['Products', printedProducts(one.products)],
    ['Created', time(one.created_at)],
  ]);
  return { json: one, text };
}

const secretText = (client_id: string, client_secret: string) =>
  `${shownOnce({ client_id, client_secret })} Send both as HTTP Basic.`;

export const serviceCredentialCommands = {
  'service-credentials create': command({
    summary: 'Makes credentials for a back end. The secret is printed this once.',
    options: { name: { value: 'name', help: 'whose they are', required: true }, ...terms },
    async run(deps, { name, permission, product = [] }) {
      const wanted = { name, permissions: permission, products: product };
      const made = await createCredential(deps, caller, wanted);
      const record = credentialRecord(made.credential);
      return {
        json: { ...record, client_secret: made.client_secret },
        text: secretText(record.client_id, made.client_secret),
      };
    },
  }),
  'service-credentials list': command({
    summary: 'Lists service credentials, never with a secret.',
    run: async (deps) =>
      listed(
        'service_credentials',
        (await allCredentials(deps)).map(credentialRecord),
        ['CLIENT', 'STATUS', 'PERMISSIONS', 'PRODUCTS', 'NAME'],
        (one) => [one.client_id, statusOf(one), one.permissions.join(' '), printedProducts(one.products), one.name],
      ),
  }),
  'service-credentials rotate': command({
    summary: 'Gives it a new secret, printed this once. The one before works for a day more, or as long as you say.',
    operands: credential,
    options: {
      overlap: {
        value: 'seconds',
        whole: [0, longestOverlapSeconds],
        help: 'how long the one before still works; a day without it, 0 for a secret that has leaked',
      },
    },
    async run(deps, { client_id, overlap }) {
      const { client_secret, previous_expires_at } = await rotateCredential(deps, caller, client_id, overlap);
      return {
        json: { client_id, client_secret, previous_expires_at },
        text: `${secretText(client_id, client_secret)}\nThe one before ends at ${time(previous_expires_at)}.`,
      };
    },
  }),
  'service-credentials restrict': command({
    summary: 'Sets what it may do from now on: all of it, not what is added.',
    operands: credential,
    options: terms,
    async run(deps, { client_id, permission, product = [] }) {
      await changeCredentialTerms(deps, caller, client_id, { permissions: permission, products: product });
      return show(deps, client_id);
    },
  }),
  'service-credentials retire': command({
    summary: 'Ends it for good, at once.',
    operands: credential,
    run: (deps, { client_id }) =>
      done(retire(deps, caller, client_id), { retired: client_id }, `${client_id} opens nothing any more.`),
  }),
};
