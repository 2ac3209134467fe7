import {
  claimPattern,
  idPattern,
  knownIssuer,
  longestLabel,
  scopePattern,
} from '../../authentication/credentials/providers.ts';
import { allProviders, useOfProvider } from '../../authentication/federation/list-providers.ts';
import {
  createProvider,
  editProvider,
  hasClientSecret,
  removeProvider,
  turnOff,
  turnOn,
} from '../../authentication/federation/manage-provider.ts';
import {
  longestClientId,
  longestIssuer,
  readNewProvider,
  secretProblem,
} from '../../authentication/federation/provider-rules.ts';
import { invalidFields } from '../../platform/errors.ts';
import { inCode, nullable } from '../../platform/http/operation.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { type Kind, type State, secretField } from '../kind.ts';
import { SecretReference } from '../secret-reference.ts';

export const ProviderEntry = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        description: 'In `/auth/{id}/callback`. Left out: the key of the entry. It cannot be changed.',
        ...inCode({ pattern: idPattern }),
      }),
    ),
    label: Type.Optional(
      Type.String({
        description: 'The text of its button; may be left out for `google`.',
        ...inCode({ minLength: 1, maxLength: longestLabel }),
      }),
    ),
    issuer: Type.Optional(
      Type.String({
        description: 'May be left out for `google`. It cannot be changed.',
        ...inCode({ format: 'uri', maxLength: longestIssuer }),
      }),
    ),
    client_id: Type.String({
      description: 'client_id of this service there.',
      ...inCode({ minLength: 1, maxLength: longestClientId }),
    }),
    groups_claim: Type.Optional(
      nullable(
        Type.String({ description: 'The claim whose groups are followed.', ...inCode({ pattern: claimPattern }) }),
      ),
    ),
    scope: Type.Optional(
      nullable(
        Type.String({
          description: 'Scopes to ask for beside `openid email profile`.',
          ...inCode({ pattern: scopePattern }),
        }),
      ),
    ),
    enabled: Type.Optional(Type.Boolean({ description: 'Left out: it stays as it is. A new one is enabled.' })),
    secret: Type.Optional({
      ...SecretReference,
      description: 'Where its client secret is. Needed for a new one; left out, it stays as it is.',
    }),
  },
  { additionalProperties: false },
);

type Terms = { id: string; issuer: string; label: string; client_id: string; groups_claim: string; scope: string };
const termsOf = (state: State) => state as unknown as Terms;
const edited = ['label', 'client_id', 'groups_claim', 'scope', secretField];

export const providers: Kind = {
  name: 'providers',
  fixed: ['id', 'issuer'],
  isUnique: true,
  needsSecret: true,
  recognizedBy: ({ id }) => String(id),
  nameOf: ({ label }) => String(label),
  keyFor: ({ id }) => String(id),
  members: Object.keys(ProviderEntry.properties),
  list: async (deps) =>
    (await allProviders(deps))
      .filter(({ source }) => source === 'store')
      .map(({ id, issuer, label, client_id, groups_claim, scope, disabled_at }) => ({
        id,
        state: { id, issuer, label, client_id, groups_claim, scope, enabled: disabled_at === null },
        hasSecret: (secret) => hasClientSecret(deps, id, secret),
      })),
  read(deps, entry, _, key) {
    const { id = key, enabled, secret: _secret, ...given } = entry as Static<typeof ProviderEntry>;
    const { problems, issuer, label } = readNewProvider(deps, { id, ...given });
    if (problems.length > 0) throw invalidFields(problems);
    const { client_id, groups_claim, scope } = given;
    return {
      ...{ id, issuer, label, client_id },
      ...{ groups_claim: groups_claim || null, scope: scope?.trim() || null },
      ...(enabled !== undefined && { enabled }),
    };
  },
  usesSecret: () => true,
  secretProblem,
  async create({ deps, caller, secret = '' }, state, made) {
    const { id, redirect_uri } = await createProvider(deps, caller, { ...termsOf(state), client_secret: secret });
    await made(id);
    if (state.enabled === false) await turnOff(deps, caller, id);
    return { redirect_uri };
  },
  async change({ deps, caller, secret }, { id }, state, fields) {
    if (fields.includes('enabled') && state.enabled === false) await turnOff(deps, caller, id);
    if (fields.some((field) => edited.includes(field))) {
      const { label, client_id, groups_claim, scope } = termsOf(state);
      const client_secret = fields.includes(secretField) ? secret : undefined;
      await editProvider(deps, caller, id, { label, client_id, groups_claim, scope, client_secret });
    }
    if (fields.includes('enabled') && state.enabled === true) await turnOn(deps, caller, id);
    return undefined;
  },
  async remove({ deps, caller }, { id }) {
    await removeProvider(deps, caller, id);
  },
  async lossOf(deps, { state }) {
    const { alone, is_complete } = await useOfProvider(deps, termsOf(state));
    if (alone === 0) return undefined;
    return `${alone}${is_complete ? '' : ' or more'} ${alone === 1 ? 'person signs' : 'people sign'} in with it alone`;
  },
  write({ enabled, id, issuer, label, ...state }, key) {
    const known = knownIssuer(String(id));
    return {
      ...(id !== key && { id }),
      ...(known?.label !== label && { label }),
      ...(known?.issuer !== issuer && { issuer }),
      ...Object.fromEntries(Object.entries(state).filter(([, value]) => value !== null)),
      ...(enabled === false && { enabled }),
    };
  },
};
