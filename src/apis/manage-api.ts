import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mayConflict, mustChange } from '../platform/db/change.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Edited } from '../platform/edited.ts';
import { fieldProblem, invalidFields, invalidState, notFound, refusal } from '../platform/errors.ts';
import { type ApiId, newId } from '../platform/ids.ts';
import { normalizeName } from '../platform/text.ts';
import { type Api, type ApiScope, comparableIdentifier, type TokenStatus } from './api.ts';
import { apiProblems, identifierProblem, maxScopes, scopeProblems, type WantedScope } from './api-rules.ts';
import type { Deps } from './deps.ts';
import {
  insertApi,
  insertScope,
  isIdentifierOfAny,
  ownerOfScope,
  readApi,
  retireApiRow,
  retireScopeRow,
  touchApi,
  updateSentences,
} from './store.ts';

type ApiDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'apis'>;

type WantedApi = {
  name: string;
  description?: string | null | undefined;
  /** `none` if left out. */
  token_status?: TokenStatus | undefined;
};

/**
 * Registers an API, whose scopes clients may be allowed from then on.
 * @throws {RequestError} `invalid_request` with a problem for each field, also for an identifier or a scope that is taken; `invalid_state`
 * when there are too many.
 */
export async function registerApi(
  deps: ApiDeps,
  caller: Caller,
  { identifier, scopes, ...wanted }: WantedApi & { identifier: string; scopes: readonly WantedScope[] },
): Promise<Api> {
  const problems = [
    ...identifierProblem(identifier, deps.config.baseUrl),
    ...apiProblems(wanted),
    ...scopeProblems(scopes),
  ];
  if (scopes.length === 0) problems.push(fieldProblem('scopes', { key: 'problem.api.scopes' }));
  if (problems.length > 0) throw invalidFields(problems);
  const at = now(deps);
  const api_id = newId('api');
  const row = {
    api_id,
    identifier,
    name: normalizeName(wanted.name),
    description: wanted.description?.trim() || null,
    token_status: wanted.token_status ?? 'none',
    created_at: at,
  };
  const { token_status } = row;
  const after = {
    identifier,
    name: row.name,
    ...(token_status !== 'none' && { token_status }),
    scopes: scopes.map(({ name }) => name),
  };
  const event = auditEvent({ action: 'api.registered', ...caller, target: api_id, after }, at);
  const done = await deps.db.shared.change({
    run: {
      api: mayConflict(
        mustChange(insertApi({ ...row, identifier_key: comparableIdentifier(identifier), event_id: event.event_id })),
      ),
      scopes: scopes.map((scope) => mayConflict(insertScope({ ...scope, api_id, created_at: at }))),
      event: event.statement,
    },
  });
  deps.apis.forget();
  if (done.ok) return { ...row, scopes: scopes.map((scope) => ({ ...scope, created_at: at })) };
  if (done.failed === 'scopes') throw await takenScopes(deps, scopes);
  const inUse = (await deps.apis.read()).named(identifier);
  throw inUse ? taken('identifier', inUse) : refusal('invalid_state', { key: 'problem.api.too_many' });
}

/**
 * Changes name, description and whether tokens carry a status, adds scopes, and replaces the sentences of scopes that are there. None is removed: see {@link retireScope}.
 * @throws {RequestError} `not_found` also for a retired API; as {@link registerApi}.
 */
export async function editApi(
  deps: ApiDeps,
  caller: Caller,
  api_id: string,
  { scopes = [], ...wanted }: Partial<WantedApi> & { scopes?: readonly WantedScope[] | undefined },
): Promise<Edited<Api>> {
  const before = await findApi(deps, api_id);
  const { name = before.name, description = before.description, token_status = before.token_status } = wanted;
  const problems = [...apiProblems({ name, description }), ...scopeProblems(scopes)];
  const isKnown = ({ name: one }: WantedScope) => before.scopes.some((scope) => scope.name === one);
  const added = scopes.filter((scope) => !isKnown(scope));
  if (before.scopes.length + added.length > maxScopes)
    problems.push(fieldProblem('scopes', { key: 'problem.api.many_scopes', values: { max: maxScopes } }));
  if (problems.length > 0) throw invalidFields(problems);
  const to = { name: normalizeName(name), description: description?.trim() || null, token_status };
  const said = (scope: ApiScope | undefined) => JSON.stringify(Object.entries(scope?.descriptions ?? {}).sort());
  const resaid = scopes.filter(
    (scope) =>
      isKnown(scope) &&
      said(before.scopes.find(({ name: one }) => one === scope.name)) !== said({ ...scope, created_at: 0 }),
  );
  const isSame =
    to.name === before.name && to.description === before.description && token_status === before.token_status;
  if (isSame && added.length + resaid.length === 0) return { after: before, isChanged: false };
  const at = now(deps);
  const after = {
    ...(!isSame && to),
    ...(added.length + resaid.length > 0 && { scopes: [...added, ...resaid].map(({ name: one }) => one) }),
  };
  await change(deps, caller, {
    action: 'api.edited',
    api_id: before.api_id,
    after,
    to,
    added,
    statements: [
      ...added.map((scope) => mayConflict(insertScope({ ...scope, api_id: before.api_id, created_at: at }))),
      ...resaid.map((scope) => updateSentences(before.api_id, scope)),
    ],
  });
  return { after: await findApi(deps, api_id), isChanged: true };
}

/**
 * Clients and tokens lose the scope within a second, and no other API may ever have it.
 * @throws {RequestError} `not_found`; `invalid_state` for the last one of an API, which is retired as a whole.
 */
export async function retireScope(deps: ApiDeps, caller: Caller, api_id: string, name: string): Promise<Api> {
  const before = await findApi(deps, api_id);
  if (!before.scopes.some((scope) => scope.name === name)) throw notFound();
  if (before.scopes.length === 1) throw refusal('invalid_state', { key: 'problem.api.last_scope' });
  const statement = mustChange(retireScopeRow(before.api_id, name, now(deps)));
  await change(deps, caller, {
    action: 'api.scope_retired',
    api_id: before.api_id,
    after: { scope: name },
    statements: [statement],
  });
  return findApi(deps, api_id);
}

/** Its scopes end with it, within a second and for good. @throws {RequestError} `not_found`. */
export async function retireApi(deps: ApiDeps, caller: Caller, api_id: string): Promise<void> {
  const { identifier, name } = await findApi(deps, api_id);
  const retired = mustChange(retireApiRow(api_id, now(deps)));
  await change(deps, caller, { action: 'api.retired', api_id, after: { identifier, name }, statements: [retired] });
}

/** Whether it is the identifier of an API, or was that of one that is retired. */
export const wasEverIdentifier = ({ db }: Pick<Deps, 'db'>, identifier: string): Promise<boolean> =>
  isIdentifierOfAny(db, comparableIdentifier(identifier));

/** @throws {RequestError} `not_found`, also for one that is retired. */
export async function findApi({ db }: Pick<Deps, 'db'>, api_id: string): Promise<Api> {
  const api = await readApi(db, api_id);
  if (!api) throw notFound();
  return api;
}

type ApiChange = {
  action: 'api.edited' | 'api.scope_retired' | 'api.retired';
  api_id: ApiId;
  after: Readonly<Record<string, unknown>>;
  to?: Pick<Api, 'name' | 'description' | 'token_status'>;
  added?: readonly WantedScope[];
  statements: readonly (Sql | ReturnType<typeof mustChange>)[];
};

/** @throws {RequestError} `not_found` if it was retired meanwhile. */
async function change(deps: ApiDeps, caller: Caller, { api_id, to, added = [], statements, ...what }: ApiChange) {
  const event = auditEvent({ ...what, ...caller, target: api_id }, now(deps));
  const done = await deps.db.shared.change({
    run: {
      api: mustChange(touchApi(api_id, event.event_id, to)),
      statements,
      event: event.statement,
    },
  });
  deps.apis.forget();
  if (done.ok) return;
  if (done.failed === 'statements' && added.length > 0) throw await takenScopes(deps, added);
  if (await readApi(deps.db, api_id)) throw invalidState('changed');
  throw notFound();
}

const taken = (path: string, { name }: Pick<Api, 'name'>) =>
  invalidFields([fieldProblem(path, { key: 'problem.api.taken', values: { api: name } })]);

/** Also by an API that is retired: what was allowed of it must not be allowed of another. */
async function takenScopes({ db }: ApiDeps, scopes: readonly WantedScope[]) {
  for (const [place, { name }] of scopes.entries()) {
    const owner = await ownerOfScope(db, name);
    if (!owner) continue;
    const key = owner.is_active ? 'problem.api.scope_taken' : 'problem.api.scope_retired';
    return invalidFields([fieldProblem(`scopes/${place}/name`, { key, values: { api: owner.name } })]);
  }
  return invalidState('changed');
}
