import { comparableIdentifier, type TokenStatus, tokenStatuses } from '../../apis/api.ts';
import {
  apiProblems,
  identifierProblem,
  longestDescription,
  longestIdentifier,
  longestSentence,
  scopeProblems,
  type WantedScope,
} from '../../apis/api-rules.ts';
import { editApi, registerApi, retireApi, retireScope } from '../../apis/manage-api.ts';
import { fieldProblem, invalidFields } from '../../platform/errors.ts';
import { nameInCode, nullable } from '../../platform/http/operation.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { normalizeName } from '../../platform/text.ts';
import { type Kind, type State, without } from '../kind.ts';

export const ApiEntry = Type.Object(
  {
    identifier: Type.String({
      maxLength: longestIdentifier,
      description: 'An absolute URI, `aud` of its tokens. It cannot be changed.',
    }),
    name: Type.String({ description: 'Shown to users, 1 to 100 characters.', ...nameInCode }),
    description: Type.Optional(nullable(Type.String({ maxLength: longestDescription }))),
    token_status: Type.Optional(
      Type.Enum([...tokenStatuses], {
        description: '`list`: its access tokens carry a status, by which it knows revoked ones. none if left out.',
      }),
    ),
    scopes: Type.Record(
      Type.String(),
      Type.Record(Type.String(), Type.String({ maxLength: longestSentence }), {
        description: 'The sentence for users, by language, such as `en: Read your files`.',
      }),
      { description: 'By name. One that is left out is retired with --prune alone: for good.' },
    ),
  },
  { additionalProperties: false },
);

/** Each scope is a field of its own, so that a difference names it. */
const scopeField = 'scope ';

const scopesOf = (state: State): WantedScope[] =>
  Object.entries(state).flatMap(([field, descriptions]) =>
    field.startsWith(scopeField)
      ? [{ name: field.slice(scopeField.length), descriptions: descriptions as WantedScope['descriptions'] }]
      : [],
  );

type Terms = { identifier: string; name: string; description: string | null; token_status: TokenStatus };
const termsOf = ({ identifier, name, description, token_status }: State) =>
  ({ identifier, name, description, token_status }) as Terms;

const stateOf = (terms: Terms, scopes: readonly WantedScope[]): State => ({
  ...terms,
  ...Object.fromEntries(
    [...scopes]
      .sort((one, other) => (one.name < other.name ? -1 : 1))
      .map(({ name, descriptions }) => [
        scopeField + name,
        Object.fromEntries(Object.entries(descriptions).sort(([one], [other]) => (one < other ? -1 : 1))),
      ]),
  ),
});

export const apis: Kind = {
  name: 'apis',
  fixed: ['identifier'],
  isUnique: true,
  recognizedBy: ({ identifier }) => comparableIdentifier(String(identifier)),
  keptFields: scopeField,
  members: Object.keys(ApiEntry.properties),
  async list(deps) {
    deps.apis.forget();
    const { all } = await deps.apis.read();
    return all.map(({ api_id, identifier, name, description, token_status, scopes }) => ({
      id: api_id,
      state: stateOf({ identifier, name, description, token_status }, scopes),
    }));
  },
  read(deps, entry) {
    const { identifier, name, description = null, token_status = 'none', scopes } = entry as Static<typeof ApiEntry>;
    const wanted = Object.entries(scopes).map(([scope, descriptions]) => ({ name: scope, descriptions }));
    const problems = [
      ...identifierProblem(identifier, deps.config.baseUrl),
      ...apiProblems({ name, description }),
      ...scopeProblems(wanted),
      ...(wanted.length === 0 ? [fieldProblem('scopes', { key: 'problem.api.scopes' })] : []),
    ];
    if (problems.length > 0) throw invalidFields(problems);
    const terms = { identifier, name: normalizeName(name), description: description?.trim() || null, token_status };
    return stateOf(terms, wanted);
  },
  usesSecret: () => false,
  async create({ deps, caller }, state, made) {
    await made((await registerApi(deps, caller, { ...termsOf(state), scopes: scopesOf(state) })).api_id);
    return undefined;
  },
  async change({ deps, caller }, { id }, state, fields) {
    const { name, description, token_status } = termsOf(state);
    await editApi(deps, caller, id, { name, description, token_status, scopes: scopesOf(state) });
    for (const field of fields) {
      if (field.startsWith(scopeField) && !(field in state))
        await retireScope(deps, caller, id, field.slice(scopeField.length));
    }
    return undefined;
  },
  remove: ({ deps, caller }, { id }) => retireApi(deps, caller, id),
  write: (state) => ({
    ...without(termsOf(state), { description: null, token_status: 'none' }),
    scopes: Object.fromEntries(scopesOf(state).map(({ name, descriptions }) => [name, descriptions])),
  }),
};
