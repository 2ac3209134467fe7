import type { AdministrativePermission } from '../../accounts/permissions.ts';
import {
  changeCredentialTerms,
  createCredential,
  findCredential,
  longestOverlapSeconds,
  mostAddresses,
  mostDays,
  mostDaysToAdminister,
  retire,
  rotateCredential,
} from '../../entitlements/service-credentials/manage-credential.ts';
import {
  credentialRecord,
  hasExpired,
  isAdministrative,
  permissions,
} from '../../entitlements/service-credentials/service-credential.ts';
import { allCredentials } from '../../entitlements/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import { answerOf } from '../../platform/edited.ts';
import { inCode, nameInCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { list, shownOnce, table, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { textPatterns } from '../../platform/text.ts';
import { administration, strictBody } from '../operation-parts.ts';

const record = {
  client_id: Type.String(),
  name: Type.String(),
  permissions: Type.Array(Type.Enum([...permissions])),
  products: Type.Array(Type.String()),
  api_id: nullable(Type.String({ description: 'The API that introspects its own tokens by it, and no others.' })),
  addresses: Type.Array(Type.String(), {
    description: 'Addresses and subnets from which it is accepted; empty: from anywhere.',
  }),
  created_at: Time,
  expires_at: nullable(
    Type.Integer({ minimum: 0, description: 'Unix seconds. From then on it is refused. Null: never.' }),
  ),
  retired_at: nullable(Time),
  secrets: Type.Array(
    Type.Object({
      secret_id: Type.String(),
      created_at: Time,
      expires_at: nullable(Time),
      last_four: nullable(Type.String({ description: 'Its last four characters.' })),
      last_used_at: nullable(Time),
    }),
    { description: 'The active ones.' },
  ),
  last_used_at: nullable(
    Type.Integer({ minimum: 0, description: 'Unix seconds, to the hour. Null if no use was recorded.' }),
  ),
};
const Credential = Type.Object(record);
type Credential = Pick<
  ReturnType<typeof credentialRecord>,
  | 'client_id'
  | 'name'
  | 'permissions'
  | 'products'
  | 'api_id'
  | 'addresses'
  | 'created_at'
  | 'expires_at'
  | 'retired_at'
  | 'last_used_at'
>;
const secret = { client_secret: Type.String({ description: 'Returned only once.' }) };

const terms = {
  permissions: Type.Array(Type.Enum([...permissions]), { minItems: 1, description: 'What it may do.' }),
  products: Type.Optional(
    Type.Array(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: 'Any printable characters.',
        ...inCode({ pattern: textPatterns.visible }),
      }),
      {
        maxItems: 100,
        description: 'Products whose entitlements it may write, spelled exactly as in the entitlements.',
      },
    ),
  ),
};

/** @param isLeftOut what holds then. */
const restrictions = (isLeftOut: { addresses: string; expires: string }) => ({
  addresses: Type.Optional(
    Type.Array(Type.String(inCode({ minLength: 2, maxLength: 43, pattern: '^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$' })), {
      maxItems: mostAddresses,
      description: `Addresses and subnets from which it is accepted; empty: from anywhere. Left out: ${isLeftOut.addresses}.`,
    }),
  ),
  expires_in_days: Type.Optional(
    nullable(
      Type.Integer({
        minimum: 1,
        maximum: mostDays,
        description:
          `Days from now after which it is refused; null: it never ends. At most ${mostDaysToAdminister}, and not null, with a permission of ` +
          `administration. Left out: ${isLeftOut.expires}.`,
      }),
    ),
  ),
});

const forAdministration = {
  permission: 'service-credentials:grant',
  words:
    'With a permission of administration it takes `service-credentials:grant`: a person who has signed in with a second factor.',
} as const;

const administers = async (deps: Pick<Deps, 'db'>, client_id: string): Promise<boolean> =>
  isAdministrative((await findCredential(deps, client_id)).permissions);

const writerNeedsProduct = inCode({
  allOf: [
    {
      anyOf: [
        { properties: { permissions: { not: { contains: { const: 'entitlements:write' } } } } },
        { properties: { products: { minItems: 1 } }, required: ['products'] },
      ],
    },
  ],
});

const change = (permission: AdministrativePermission) =>
  ({
    ...administration(permission),
    parameters: { client_id: 'client_id of a service credential, `svc_...`.' },
    answer: { description: 'The credential after the change.', schema: Credential },
    refusals: ['not_found', 'invalid_state'],
  }) as const;

async function recordAfter(done: Promise<void>, deps: Pick<Deps, 'db' | 'clock'>, client_id: string) {
  await done;
  return credentialRecord(await findCredential(deps, client_id), now(deps));
}

const statusOf = ({ retired_at, expires_at }: Credential, at: number) =>
  retired_at !== null ? 'retired' : hasExpired({ expires_at }, at) ? 'expired' : 'active';

/** Names with unusual characters stand in quotes, so that they can be distinguished. */
const printedProducts = ({ products }: Credential) =>
  products.map((product) => (/^[\w.:-]+$/.test(product) ? product : JSON.stringify(product)));

const describe = (credential: Credential, _: unknown, deps: Deps) =>
  table([
    ['Client', credential.client_id],
    ['Name', credential.name],
    ['Status', statusOf(credential, now(deps))],
    ['Permissions', credential.permissions],
    ['Products', printedProducts(credential)],
    ['API', credential.api_id ?? ''],
    ['Addresses', credential.addresses.length > 0 ? credential.addresses : 'any'],
    ['Created', time(credential.created_at)],
    ['Expires', time(credential.expires_at)],
    ['Last used', time(credential.last_used_at)],
  ]);

const describeSecret = ({ client_id, client_secret }: { client_id: string; client_secret: string }) =>
  `${shownOnce({ client_id, client_secret })} Send both as HTTP Basic.`;

export const serviceCredentialOperations = {
  create: operation({
    ...administration('service-credentials:write'),
    id: 'createServiceCredential',
    method: 'POST',
    path: '/v1/admin/service-credentials',
    summary: 'Create a service credential for a back end',
    body: strictBody(
      {
        name: Type.String({ description: 'Name of the back end.', ...nameInCode }),
        ...terms,
        ...restrictions({
          addresses: 'from anywhere',
          expires: 'it never ends, which a permission of administration does not allow',
        }),
        api_id: Type.Optional(
          nullable(
            Type.String({
              description:
                'The API that introspects its own tokens by it, and no others; with `tokens:introspect` alone.',
              ...inCode({ maxLength: 64 }),
            }),
          ),
        ),
      },
      writerNeedsProduct,
    ),
    example: { name: 'Billing', permissions: ['entitlements:write'], products: ['editor'] },
    answer: { description: 'With its secret.', schema: Type.Object({ ...record, ...secret }) },
    alsoNeeds: { ...forAdministration, when: (_, { body }) => isAdministrative(body.permissions) },
    async run(deps, { caller, body: { products = [], ...wanted } }) {
      const { credential, client_secret } = await createCredential(deps, caller, { ...wanted, products });
      return { ...credentialRecord(credential, now(deps)), client_secret };
    },
    command: {
      name: 'service-credentials create',
      summary: 'Create a service credential for a back end. Prints its secret, which cannot be shown again.',
      options: { permission: 'permissions', product: 'products', address: 'addresses', api: 'api_id' },
      text: describeSecret,
    },
  }),

  list: operation({
    ...administration('service-credentials:read'),
    id: 'listServiceCredentials',
    method: 'GET',
    path: '/v1/admin/service-credentials',
    summary: 'List service credentials',
    answer: {
      description: 'Oldest first, without secrets.',
      schema: Type.Object({ service_credentials: Type.Array(Credential) }),
    },
    run: async (deps) => ({
      service_credentials: (await allCredentials(deps)).map((one) => credentialRecord(one, now(deps))),
    }),
    command: {
      name: 'service-credentials list',
      text: ({ service_credentials }, _, deps) =>
        list([
          ['CLIENT', 'STATUS', 'EXPIRES', 'LAST USED', 'PERMISSIONS', 'PRODUCTS', 'NAME'],
          ...service_credentials.map((each) => [
            each.client_id,
            statusOf(each, now(deps)),
            time(each.expires_at),
            time(each.last_used_at),
            each.permissions,
            printedProducts(each),
            each.name,
          ]),
        ]),
    },
  }),

  rotate: operation({
    ...change('service-credentials:write'),
    id: 'rotateServiceCredential',
    method: 'POST',
    path: '/v1/admin/service-credentials/:client_id/rotate',
    summary: 'Rotate the secret of a service credential',
    description: 'At most two secrets are active: older ones than the previous one end immediately.',
    body: strictBody({
      overlap_seconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: longestOverlapSeconds,
          default: longestOverlapSeconds,
          description: 'Seconds for which the previous secret still works; 0 if it has leaked.',
        }),
      ),
    }),
    bodyIsOptional: true,
    example: { overlap_seconds: 0 },
    answer: {
      description: 'The previous secret works until `previous_expires_at`.',
      schema: Type.Object({ client_id: Type.String(), ...secret, previous_expires_at: Time }),
    },
    refusals: ['not_found', 'invalid_state', 'invalid_request'],
    alsoNeeds: { ...forAdministration, when: (deps, { client_id }) => administers(deps, client_id) },
    async run(deps, { caller, client_id, body }) {
      const { credential_id: _, ...rotated } = await rotateCredential(deps, caller, client_id, body.overlap_seconds);
      return { client_id, ...rotated };
    },
    command: {
      name: 'service-credentials rotate',
      confirm: ({ overlap }) =>
        overlap === 0 ? 'The current secret stops working at once. It cannot be restored.' : undefined,
      summary: 'Rotate the secret of a service credential. Prints the new secret, which cannot be shown again.',
      options: { overlap: 'overlap_seconds' },
      text: (rotated) =>
        `${describeSecret(rotated)}\nThe previous secret works until ${time(rotated.previous_expires_at)}.`,
    },
  }),

  restrict: operation({
    ...change('service-credentials:write'),
    id: 'restrictServiceCredential',
    method: 'PATCH',
    path: '/v1/admin/service-credentials/:client_id',
    summary: 'Replace the permissions and products of a service credential, and its restrictions',
    description: 'To extend it, send the same permissions and products with other days.',
    body: strictBody(
      { ...terms, ...restrictions({ addresses: 'as before', expires: 'as before' }) },
      writerNeedsProduct,
    ),
    example: { permissions: ['entitlements:write'], products: ['editor'] },
    alsoNeeds: {
      ...forAdministration,
      when: async (deps, { client_id, body }) =>
        isAdministrative(body.permissions) || (await administers(deps, client_id)),
    },
    async run(deps, { caller, client_id, body: { products = [], ...wanted } }) {
      const isChanged = await changeCredentialTerms(deps, caller, client_id, { ...wanted, products });
      const after = await findCredential(deps, client_id);
      return answerOf({ after, isChanged }, (credential) => credentialRecord(credential, now(deps)));
    },
    command: {
      name: 'service-credentials restrict',
      summary: 'Replace the permissions and products of a service credential, and its restrictions.',
      options: { permission: 'permissions', product: 'products', address: 'addresses' },
      text: describe,
    },
  }),

  retire: operation({
    ...change('service-credentials:write'),
    id: 'retireServiceCredential',
    method: 'POST',
    path: '/v1/admin/service-credentials/:client_id/retire',
    summary: 'Retire a service credential permanently',
    run: (deps, { caller, client_id }) => recordAfter(retire(deps, caller, client_id), deps, client_id),
    command: {
      name: 'service-credentials retire',
      confirm: 'The credential stops working. It cannot be restored.',
      summary: 'Retire a service credential permanently.',
      json: (_, { client_id }) => ({ retired: client_id }),
      text: (_, { client_id }) => `${client_id} has been retired.`,
    },
  }),
};
