import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { type Api, tokenStatuses } from '../../apis/api.ts';
import {
  longestDescription,
  longestIdentifier,
  longestScope,
  longestSentence,
  scopePattern,
} from '../../apis/api-rules.ts';
import { editApi, findApi, registerApi, retireApi, retireScope } from '../../apis/manage-api.ts';
import { answerOf } from '../../platform/edited.ts';
import { fieldProblem, invalidFields } from '../../platform/errors.ts';
import { inCode, nameInCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { locales, nameOfLanguage } from '../../platform/i18n/translate.ts';
import { list, table, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { textPatterns } from '../../platform/text.ts';
import { administration, strictBody } from '../operation-parts.ts';

const ApiRecord = Type.Object({
  api_id: Type.String(),
  identifier: Type.String({ description: '`aud` of tokens for it, and what clients send as `resource` (RFC 8707).' }),
  name: Type.String(),
  description: nullable(Type.String()),
  token_status: Type.Enum([...tokenStatuses], {
    description: '`list`: access tokens for it carry `status`, by which it knows revoked ones from a list.',
  }),
  created_at: Time,
  scopes: Type.Array(
    Type.Object({
      name: Type.String(),
      descriptions: Type.Record(Type.String(), Type.String(), { description: 'What users read of it, by language.' }),
      created_at: Time,
    }),
    { description: 'In the order in which they were added, without retired ones.' },
  ),
});

const scope = Type.String({
  minLength: 1,
  maxLength: longestScope,
  pattern: scopePattern,
  description: 'Name of a scope. It is of one API of all, and never used again once it is retired.',
});

/** The member of the sentence in one language. */
export const sentenceMember = (locale: string) => `sentence_${locale.toLowerCase().replaceAll('-', '_')}` as const;

const sentence = (locale: string) =>
  Type.Optional(
    Type.String({
      description: `What it lets an app do, as users read it: one sentence, ${nameOfLanguage(locale)}.`,
      ...inCode({ minLength: 1, maxLength: longestSentence, pattern: textPatterns.visible }),
    }),
  );

/** What users read when they are asked for a scope; at least one. */
const sentences: Readonly<Record<`sentence_${string}`, ReturnType<typeof sentence>>> = Object.fromEntries(
  locales.map((locale) => [sentenceMember(locale), sentence(locale)]),
);

const wantedScope = (body: Readonly<Record<string, unknown>>) => ({
  name: String(body.scope),
  descriptions: Object.fromEntries(
    locales.flatMap((locale) => {
      const text = body[sentenceMember(locale)];
      return typeof text === 'string' && text.trim() !== '' ? [[locale, text.trim()]] : [];
    }),
  ),
});

const description = Type.Optional(
  nullable(
    Type.String({
      description: 'What it is, for owners of clients and administrators.',
      ...inCode({ maxLength: longestDescription, pattern: textPatterns.seen }),
    }),
  ),
);
const token_status = Type.Optional(
  Type.Enum([...tokenStatuses], {
    description:
      '`list`: access tokens for it carry `status` (draft-ietf-oauth-status-list), so that it knows revoked ones within a minute without asking. `none` if left out at its registration.',
  }),
);
const name = Type.String({ description: 'As users read it.', ...nameInCode });

const parameters = { api_id: 'ID of an API, `api_...`.' };
const one = (permission: AdministrativePermission) =>
  ({
    ...administration(permission),
    parameters,
    answer: { description: 'The API.', schema: ApiRecord },
    refusals: ['not_found'],
  }) as const;

const describe = (api: Api) =>
  table([
    ['API', api.api_id],
    ['Identifier', api.identifier],
    ['Name', api.name],
    ['Description', api.description ?? ''],
    ['Scopes', api.scopes.map((each) => each.name)],
    ['Status of tokens', api.token_status],
    ['Registered', time(api.created_at)],
  ]);

// Of members that the type does not name: there is one for each language.
const readingFiles = { scope: 'files:read', sentence_en: 'Read your files' };
const changingFiles = { scope: 'files:write', sentence_en: 'Change your files' };

export const apiOperations = {
  list: operation({
    ...administration('apis:read'),
    id: 'listApis',
    method: 'GET',
    path: '/v1/admin/apis',
    summary: 'List the APIs that tokens may be for',
    answer: { description: 'By name, without retired ones.', schema: Type.Object({ apis: Type.Array(ApiRecord) }) },
    run: async (deps) => ({ apis: [...(await deps.apis.read()).all] }),
    command: {
      name: 'apis list',
      text: ({ apis }) =>
        list([
          ['API', 'IDENTIFIER', 'SCOPES', 'NAME'],
          ...apis.map((api) => [api.api_id, api.identifier, api.scopes.map((each) => each.name), api.name]),
        ]),
    },
  }),

  register: operation({
    ...administration('apis:write'),
    id: 'registerApi',
    method: 'POST',
    path: '/v1/admin/apis',
    summary: 'Register an API, with its first scope',
    body: strictBody({
      identifier: Type.String({
        minLength: 1,
        description: 'An absolute URI without a fragment, usually its address. It cannot be changed.',
        ...inCode({ format: 'uri', maxLength: longestIdentifier }),
      }),
      name,
      description,
      token_status,
      scope,
      ...sentences,
    }),
    example: { identifier: 'https://files.example.com', name: 'Files', ...readingFiles },
    answer: { description: 'The API.', schema: ApiRecord },
    refusals: ['invalid_state'],
    async run(deps, { caller, body }) {
      // A token has both in `aud`: one name must not be that of a client and of an API.
      if (await deps.clients.find(body.identifier))
        throw invalidFields([fieldProblem('identifier', { key: 'problem.api.client' })]);
      return registerApi(deps, caller, { ...body, scopes: [wantedScope(body)] });
    },
    command: {
      name: 'apis register',
      summary: 'Register an API, with its first scope.',
      text: describe,
    },
  }),

  read: operation({
    ...one('apis:read'),
    id: 'readApi',
    method: 'GET',
    path: '/v1/admin/apis/:api_id',
    summary: 'Read an API',
    run: (deps, { api_id }) => findApi(deps, api_id),
    command: { name: 'apis show', text: describe },
  }),

  edit: operation({
    ...one('apis:write'),
    id: 'editApi',
    method: 'PATCH',
    path: '/v1/admin/apis/:api_id',
    summary: 'Change the name and the description of an API, and whether its tokens carry a status',
    body: strictBody({ name: Type.Optional(name), description, token_status }, { minProperties: 1 }),
    example: { name: 'Files of the office' },
    run: async (deps, { caller, api_id, body }) => answerOf(await editApi(deps, caller, api_id, body)),
    command: {
      name: 'apis edit',
      summary: 'Change the name and the description of an API, and whether its tokens carry a status.',
      text: describe,
    },
  }),

  setScope: operation({
    ...one('apis:write'),
    id: 'setApiScope',
    method: 'POST',
    path: '/v1/admin/apis/:api_id/scopes',
    summary: 'Add a scope to an API, or replace what users read of it',
    body: strictBody({ scope, ...sentences }),
    example: changingFiles,
    refusals: ['not_found', 'invalid_state'],
    run: async (deps, { caller, api_id, body }) =>
      answerOf(await editApi(deps, caller, api_id, { scopes: [wantedScope(body)] })),
    command: {
      name: 'apis set-scope',
      summary: 'Add a scope to an API, or replace what users read of it.',
      text: describe,
    },
  }),

  retireScope: operation({
    ...one('apis:write'),
    id: 'retireApiScope',
    method: 'POST',
    path: '/v1/admin/apis/:api_id/retire-scope',
    summary: 'Retire a scope permanently',
    description: 'Clients and tokens lose it at once. The last one cannot be retired alone.',
    body: strictBody({ scope }),
    example: { scope: 'files:write' },
    refusals: ['not_found', 'invalid_state'],
    run: (deps, { caller, api_id, body }) => retireScope(deps, caller, api_id, body.scope),
    command: {
      name: 'apis retire-scope',
      confirm: 'Clients and tokens lose the scope at once. It cannot be restored, and no API can have its name again.',
      summary: 'Retire a scope permanently.',
      text: describe,
    },
  }),

  retire: operation({
    ...administration('apis:write'),
    parameters,
    id: 'retireApi',
    method: 'POST',
    path: '/v1/admin/apis/:api_id/retire',
    summary: 'Retire an API permanently',
    description: 'Its scopes end with it: clients and tokens lose them at once.',
    answer: { description: 'The API is retired.' },
    refusals: ['not_found'],
    run: (deps, { caller, api_id }) => retireApi(deps, caller, api_id),
    command: {
      name: 'apis retire',
      confirm:
        'No token is issued for the API any more, and those that are held lose it at once. It cannot be restored.',
      summary: 'Retire an API permanently.',
      json: (_, { api_id }) => ({ retired: api_id }),
      text: (_, { api_id }) => `${api_id} has been retired.`,
    },
  }),
};
