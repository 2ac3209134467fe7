import {
  createCredential,
  findCredential,
  restrictTo,
  retire,
  rotateCredential,
} from '../service-credentials/manage-credential.ts';
import { credentialRecord, permissions, type ServiceCredential } from '../service-credentials/service-credential.ts';
import { listCredentials } from '../service-credentials/store.ts';
import { type Command, readNumber, table, time } from './command.ts';

const caller = { actor: 'cli' } as const;
const operands = ['client_id'];

const statusOf = (one: ServiceCredential) => (one.retired_at === null ? 'active' : 'retired');

const describe = (one: ServiceCredential) =>
  table([
    ['Client', one.credential_id],
    ['Name', one.name],
    ['Status', statusOf(one)],
    ['Permissions', one.permissions.join(' ')],
    ['Products', one.products.join(' ') || '-'],
    ['Created', time(one.created_at)],
  ]);

const terms = {
  permission: { type: 'string', help: `${permissions.join(', ')}; several between spaces`, required: true, many: true },
  product: { type: 'string', help: 'which products it may write entitlements of; several between spaces', many: true },
} as const;
const words = (value: string | boolean | undefined): string[] =>
  value === undefined
    ? []
    : String(value)
        .split(/[\s,]+/)
        .filter(Boolean);

const secretText = (client_id: string, client_secret: string) =>
  `  client_id      ${client_id}\n  client_secret  ${client_secret}\n\nThe secret is shown this once. Send both as HTTP Basic.`;

const show = async (deps: Parameters<Command['run']>[0], client_id: string) => {
  const credential = await findCredential(deps, client_id);
  return { json: credentialRecord(credential), text: describe(credential) };
};

export const serviceCredentialCommands: Record<string, Command> = {
  'service-credentials create': {
    usage: 'service-credentials create --name <name> --permission <permission> [--product "<product> ..."]',
    summary: 'Makes credentials for a back end. The secret is printed this once.',
    options: { name: { type: 'string', help: 'whose they are', required: true }, ...terms },
    async run(deps, values) {
      const { credential, client_secret } = await createCredential(deps, caller, {
        name: String(values.name),
        permissions: words(values.permission),
        products: words(values.product),
      });
      return {
        json: { ...credentialRecord(credential), client_secret },
        text: secretText(credential.credential_id, client_secret),
      };
    },
  },
  'service-credentials list': {
    usage: 'service-credentials list',
    summary: 'Lists service credentials, never with a secret.',
    async run(deps) {
      const all = await listCredentials(deps.db);
      const rows = all.map((one) => [
        one.credential_id,
        statusOf(one),
        one.permissions.join(' '),
        one.products.join(' '),
        one.name,
      ]);
      return {
        json: { service_credentials: all.map(credentialRecord) },
        text: table([['CLIENT', 'STATUS', 'PERMISSIONS', 'PRODUCTS', 'NAME'], ...rows]),
      };
    },
  },
  'service-credentials rotate': {
    usage: 'service-credentials rotate <client_id> [--overlap <seconds>]',
    summary: 'Gives it a new secret, printed this once. The one before works for a day more, or as long as you say.',
    operands,
    options: { overlap: { type: 'string', help: '0 to 86400 (default): seconds; 0 for a secret that has leaked' } },
    async run(deps, values, [client_id = '']) {
      const overlap = readNumber('overlap', values.overlap);
      const rotated = await rotateCredential(deps, caller, client_id, overlap);
      return {
        json: { client_id, client_secret: rotated.client_secret, previous_expires_at: rotated.previous_expires_at },
        text: `${secretText(client_id, rotated.client_secret)}\nThe one before ends at ${time(rotated.previous_expires_at)}.`,
      };
    },
  },
  'service-credentials restrict': {
    usage: 'service-credentials restrict <client_id> --permission <permission> [--product "<product> ..."]',
    summary: 'Sets what it may do from now on.',
    operands,
    options: terms,
    async run(deps, values, [client_id = '']) {
      const wanted = { permissions: words(values.permission), products: words(values.product) };
      await restrictTo(deps, caller, client_id, wanted);
      return show(deps, client_id);
    },
  },
  'service-credentials retire': {
    usage: 'service-credentials retire <client_id>',
    summary: 'Ends it for good, at once.',
    operands,
    async run(deps, _values, [client_id = '']) {
      await retire(deps, caller, client_id);
      return { json: { retired: client_id }, text: `${client_id} opens nothing any more.` };
    },
  },
};
