import {
  changeCredentialTerms,
  createCredential,
  mostAddresses,
  retire,
  rotateCredential,
} from '../../entitlements/service-credentials/manage-credential.ts';
import { permissions, type ServiceCredential } from '../../entitlements/service-credentials/service-credential.ts';
import { allCredentials } from '../../entitlements/statements.ts';
import { now } from '../../platform/clock.ts';
import { invalidFields } from '../../platform/errors.ts';
import { nameInCode, nullable } from '../../platform/http/operation.ts';
import { matchesActiveSecret } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { normalizeName } from '../../platform/text.ts';
import { type Kind, type State, secretField, secretProblem, without } from '../kind.ts';
import { SecretReference } from '../secret-reference.ts';

export const CredentialEntry = Type.Object(
  {
    name: Type.String({ description: '1 to 100 characters. It cannot be changed.', ...nameInCode }),
    permissions: Type.Array(Type.Enum([...permissions]), { minItems: 1, uniqueItems: true }),
    products: Type.Optional(
      Type.Array(Type.String(), { maxItems: 100, description: 'Which products it may write entitlements of.' }),
    ),
    api: Type.Optional(
      nullable(
        Type.String({
          description: 'The API that introspects its own tokens by it: its key in these files or its identifier.',
        }),
      ),
    ),
    addresses: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: mostAddresses,
        description: 'Addresses and subnets from which it is taken; none: from anywhere.',
      }),
    ),
    expires_on: Type.Optional(
      nullable(
        Type.String({
          pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}:\\d{2}Z)?$',
          description: 'The day at whose beginning, in UTC, it ends: at most 366 days from now if it administers.',
        }),
      ),
    ),
    secret: Type.Optional(SecretReference),
  },
  { additionalProperties: false },
);

const dayOf = (seconds: number | null) =>
  seconds === null ? null : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z').replace('T00:00:00Z', '');

const secondsOf = (day: unknown) => (typeof day === 'string' ? Date.parse(day) / 1000 : null);

const defaults = { products: [], api: null, addresses: [], expires_on: null };

const termsOf = (state: State) => ({
  ...(state as Pick<ServiceCredential, 'name' | 'permissions' | 'products' | 'addresses'>),
  expires_at: secondsOf(state.expires_on),
});

export const serviceCredentials: Kind = {
  name: 'service_credentials',
  fixed: ['name', 'api'],
  recognizedBy: ({ name }) => String(name),
  members: Object.keys(CredentialEntry.properties),
  list: async (deps, { apis }) =>
    (await allCredentials(deps))
      .filter(({ retired_at }) => retired_at === null)
      .map(({ credential_id, name, products, addresses, api_id, expires_at, secrets, ...one }) => ({
        id: credential_id,
        state: {
          name,
          permissions: [...one.permissions].sort(),
          products: [...products].sort(),
          api: api_id === null ? null : (apis.get(api_id) ?? api_id),
          addresses: [...addresses].sort(),
          expires_on: dayOf(expires_at),
        },
        hasSecret: (secret) => matchesActiveSecret(secrets, secret, now(deps)),
      })),
  read(_, entry, { apis }) {
    const { secret: _secret, api = null, expires_on = null, ...terms } = entry as Static<typeof CredentialEntry>;
    const identifier = api === null ? null : apis.get(api);
    const problems = [
      ...(identifier === undefined ? [{ path: 'api', message: 'No API has this key or identifier.' }] : []),
      ...(expires_on !== null && Number.isNaN(secondsOf(expires_on))
        ? [{ path: 'expires_on', message: 'Must be a date such as 2027-06-30.' }]
        : []),
    ];
    if (problems.length > 0) throw invalidFields(problems);
    const { name, permissions: allowed, products = [], addresses = [] } = terms;
    return {
      name: normalizeName(name),
      permissions: [...allowed].sort(),
      products: [...products].sort(),
      api: identifier,
      addresses: [...addresses].sort(),
      expires_on: expires_on === null ? null : dayOf(secondsOf(expires_on)),
    };
  },
  usesSecret: () => true,
  secretProblem,
  async create({ deps, caller, secret }, state, made) {
    deps.apis.forget();
    const api = state.api === null ? undefined : (await deps.apis.read()).named(String(state.api));
    const wanted = { ...termsOf(state), api_id: api?.api_id ?? null, client_secret: secret };
    const { credential, client_secret } = await createCredential(deps, caller, wanted);
    await made(credential.credential_id);
    return { client_id: credential.credential_id, ...(secret === undefined && { client_secret }) };
  },
  async change({ deps, caller, secret }, { id }, state, fields) {
    if (fields.some((field) => field !== secretField)) await changeCredentialTerms(deps, caller, id, termsOf(state));
    if (fields.includes(secretField)) await rotateCredential(deps, caller, id, undefined, secret);
    return undefined;
  },
  remove: ({ deps, caller }, { id }) => retire(deps, caller, id),
  write: (state) => without(state, defaults),
};
