import {
  audiencePattern,
  claimPattern,
  hashPattern,
  idPattern,
  knownIssuer,
  longestLabel,
  maxLogoKb,
  scopePattern,
} from '../../authentication/credentials/providers.ts';
import { allProviders, useOfProvider } from '../../authentication/federation/list-providers.ts';
import {
  createProvider,
  editProvider,
  hasClientSecret,
  logoIn,
  logoOfProvider,
  removeProvider,
  setProviderLogo,
  signalsHashOf,
  turnOff,
  turnOn,
} from '../../authentication/federation/manage-provider.ts';
import {
  longestClientId,
  longestIssuer,
  readNewProvider,
  secretProblem,
} from '../../authentication/federation/provider-rules.ts';
import type { Deps } from '../../oauth/deps.ts';
import { invalidFields, RequestError } from '../../platform/errors.ts';
import { inCode, nullable } from '../../platform/http/operation.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { type Kind, type State, secretField } from '../kind.ts';
import { SecretReference } from '../secret-reference.ts';
import { DeclaredPicture } from './declared-picture.ts';

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
    logo: Type.Optional(
      nullable(
        Type.String({
          description: `The picture on its button, a square file of at most ${maxLogoKb} KB in base64; null: none. Left out: it stays as it is.`,
          ...inCode({ contentEncoding: 'base64', maxLength: Math.ceil((maxLogoKb * 1024) / 3) * 4 }),
        }),
      ),
    ),
    signals_audience: Type.Optional(
      nullable(
        Type.String({
          description: '`aud` of its security events; null: the `client_id`. Left out: it stays as it is.',
          ...inCode({ pattern: audiencePattern }),
        }),
      ),
    ),
    signals_secret_hash: Type.Optional(
      nullable(
        Type.String({
          description:
            'SHA-256, in base64url, of the bearer token with which it pushes security events: 32 random characters at least; null: none are taken. Left out: it stays as it is.',
          ...inCode({ pattern: hashPattern }),
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

type Logo = DeclaredPicture<Buffer> | null;

/** @throws {RequestError} `invalid_request`. */
function readLogo(text: string): Logo {
  try {
    const { logo_id, logo } = logoIn(Buffer.from(text, 'base64'));
    return new DeclaredPicture(logo_id, Buffer.from(logo, 'base64'));
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw invalidFields(error.problems.map((problem) => ({ ...problem, path: 'logo' })));
  }
}

async function logoStateOf(deps: Deps, id: string): Promise<Logo> {
  const found = await logoOfProvider(deps, id);
  return found && new DeclaredPicture(found.logo_id, found.content);
}

type Terms = { id: string; issuer: string; label: string; client_id: string; groups_claim: string; scope: string } & {
  signals_audience?: string | null;
  signals_secret_hash?: string | null;
};
const termsOf = (state: State) => state as unknown as Terms;
const edited = ['label', 'client_id', 'groups_claim', 'scope', 'signals_audience', 'signals_secret_hash', secretField];

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
    Promise.all(
      (await allProviders(deps))
        .filter(({ source }) => source === 'store')
        .map(async ({ id, issuer, label, client_id, groups_claim, scope, signals_audience, disabled_at }) => ({
          id,
          state: {
            ...{ id, issuer, label, client_id, groups_claim, scope, signals_audience },
            signals_secret_hash: await signalsHashOf(deps, id),
            logo: await logoStateOf(deps, id),
            enabled: disabled_at === null,
          },
          hasSecret: (secret: string) => hasClientSecret(deps, id, secret),
        })),
    ),
  read(deps, entry, _, key) {
    const { id = key, enabled, logo, secret: _secret, ...given } = entry as Static<typeof ProviderEntry>;
    const { problems, issuer, label } = readNewProvider(deps, { id, ...given });
    if (problems.length > 0) throw invalidFields(problems);
    const { client_id, groups_claim, scope, signals_audience, signals_secret_hash } = given;
    return {
      ...{ id, issuer, label, client_id },
      ...{ groups_claim: groups_claim || null, scope: scope?.trim() || null },
      ...(signals_audience !== undefined && { signals_audience: signals_audience || null }),
      ...(signals_secret_hash !== undefined && { signals_secret_hash: signals_secret_hash || null }),
      ...(logo !== undefined && { logo: logo === null ? null : readLogo(logo) }),
      ...(enabled !== undefined && { enabled }),
    };
  },
  usesSecret: () => true,
  secretProblem,
  async create({ deps, caller, secret = '' }, state, made) {
    const { id, redirect_uri } = await createProvider(deps, caller, { ...termsOf(state), client_secret: secret });
    await made(id);
    if (state.logo) await setProviderLogo(deps, caller, id, (state.logo as DeclaredPicture<Buffer>).file);
    if (state.enabled === false) await turnOff(deps, caller, id);
    return { redirect_uri };
  },
  async change({ deps, caller, secret }, { id }, state, fields) {
    if (fields.includes('enabled') && state.enabled === false) await turnOff(deps, caller, id);
    if (fields.some((field) => edited.includes(field))) {
      const { label, client_id, groups_claim, scope, signals_audience, signals_secret_hash } = termsOf(state);
      const client_secret = fields.includes(secretField) ? secret : undefined;
      const terms = { label, client_id, groups_claim, scope, signals_audience, signals_secret_hash };
      await editProvider(deps, caller, id, { ...terms, client_secret });
    }
    if (fields.includes('logo')) await setProviderLogo(deps, caller, id, (state.logo as Logo)?.file);
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
  // The digest of a secret stays here: left out, it is kept.
  write({ enabled, id, issuer, label, logo, signals_secret_hash: _hash, ...state }, key) {
    const known = knownIssuer(String(id));
    return {
      ...(id !== key && { id }),
      ...(known?.label !== label && { label }),
      ...(known?.issuer !== issuer && { issuer }),
      ...Object.fromEntries(Object.entries(state).filter(([, value]) => value !== null)),
      ...(logo instanceof DeclaredPicture && { logo: logo.file.toString('base64') }),
      ...(enabled === false && { enabled }),
    };
  },
};
