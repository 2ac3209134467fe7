import { comparableIdentifier } from '../apis/api.ts';
import { groupNameKey } from '../groups/group.ts';
import type { Deps } from '../oauth/deps.ts';
import { type FieldProblem, invalidFields, RequestError } from '../platform/errors.ts';
import { shapes } from './format.ts';
import { type Existing, type Kind, nameOf, type State, secretField } from './kind.ts';
import { kinds } from './kinds/all.ts';
import type { Declaration, Entry } from './read-files.ts';
import { readSecret, type Variable } from './secret-reference.ts';
import { type Declared, listDeclared } from './store.ts';

/** Both as a file says them. Undefined: it is not there. */
export type Difference = { readonly field: string; readonly before: unknown; readonly after: unknown };

export type Step = {
  /** `forget`: what was here before apply came is left as it is. */
  readonly action: 'create' | 'change' | 'delete' | 'forget';
  readonly kind: Kind;
  readonly key: string;
  /** What people call it. */
  readonly name: string;
  readonly differences: readonly Difference[];
  readonly state: State;
  readonly existing: Existing | undefined;
  readonly secret: string | undefined;
  /** What else goes with a deletion. */
  readonly loss?: string;
};

export type Plan = {
  readonly steps: readonly Step[];
  /** Which resource a key means, where that is known only now; and keys that mean nothing any more. */
  readonly recognized: readonly Omit<Declared, 'declared_at'>[];
  readonly gone: readonly Declared[];
  readonly unchanged: number;
};

/** In a plan that is shown. */
export const hidden = '(hidden)';

type Names = { groups: Map<string, string>; apis: Map<string, string> };
type Options = { prune: boolean; variable: Variable };

/**
 * What has to be done so that what is here is what the files say. It changes nothing.
 * @throws {RequestError} `invalid_request` with every problem at once, each with file, line and path.
 */
export async function makePlan(deps: Deps, declaration: Declaration, options: Options): Promise<Plan> {
  const problems: FieldProblem[] = [...declaration.problems];
  problems.push(...(await missingProviders(deps, declaration)));
  const rows = await listDeclared(deps.db);
  const names: Names = { groups: new Map(), apis: new Map() };
  const recognized: Omit<Declared, 'declared_at'>[] = [];
  const [steps, deletions, gone]: [Step[], Step[], Declared[]] = [[], [], []];
  let unchanged = 0;
  for (const kind of kinds) {
    const entries = declaration.entries.filter((one) => one.kind === kind.name);
    const its = rows.filter((row) => row.kind === kind.name);
    const existing = await kind.list(deps, names);
    const read = entries.flatMap((entry) => readEntry(deps, { kind, entry, names, problems }));
    if (kind.isUnique) problems.push(...taken(kind, read));
    const matched = match(kind, { read, rows: its, existing });
    for (const { id, state } of existing) learn(names, kind, state, id);
    for (const { entry, state, found } of matched) learn(names, kind, state, found?.id, entry.key);
    for (const one of matched) {
      if (one.found && !one.row)
        recognized.push({
          kind: kind.name,
          resource_key: one.entry.key,
          resource_id: one.found.id,
          made_by_apply: false,
        });
      const compared = { state: one.state, existing: currentOf(kind, one.found, names) };
      const whole = (await kind.complete?.(deps, compared)) ?? { ...compared, problems: [] };
      problems.push(...whole.problems.map(({ path, message }) => ({ path: one.entry.placeOf(path), message })));
      const step = await compare(kind, { ...one, state: whole.state }, { options, problems, existing: whole.existing });
      if (step) steps.push(step);
      else unchanged++;
    }
    if (!options.prune) continue;
    for (const row of its.filter(({ resource_key: key }) => !entries.some((entry) => entry.key === key))) {
      const found = existing.find(({ id }) => id === row.resource_id);
      if (!found) gone.push(row);
      else deletions.unshift(await removal(deps, kind, row, found));
    }
  }
  if (problems.length > 0) throw invalidFields(problems);
  return { steps: [...steps, ...deletions], recognized, gone, unchanged };
}

/** Of those that must be there: neither here now, nor made by the same files. */
async function missingProviders(deps: Deps, { required, entries }: Declaration): Promise<FieldProblem[]> {
  const { find } = await deps.providers.read();
  const made = entries.flatMap(({ kind, key, value }) => (kind === 'providers' ? [value.id ?? key] : []));
  return required
    .filter(({ id }) => !find(id) && !made.includes(id))
    .map(({ place }) => ({ path: place, message: 'There is no provider of this ID: see docs/providers.md.' }));
}

/** With the names that groups will have. */
function currentOf(kind: Kind, found: Existing | undefined, { groups }: Names): Existing | undefined {
  if (!found || kind.name !== 'clients') return found;
  const renamed = (list: unknown) =>
    Array.isArray(list) ? list.map((name) => groups.get(`was:${name}`) ?? name).sort() : list;
  const { allowed_groups, visible_groups } = found.state;
  const state = { ...found.state, allowed_groups: renamed(allowed_groups), visible_groups: renamed(visible_groups) };
  return { ...found, state };
}

type Read = { entry: Entry; state: State };
type Matched = Read & { row: Declared | undefined; found: Existing | undefined };

function learn({ groups, apis }: Names, kind: Kind, state: State, id: string | undefined, key?: string): void {
  if (kind.name === 'groups') {
    const name = String(state.name);
    const before = id === undefined ? undefined : groups.get(id);
    if (before !== undefined && before !== name) groups.set(`was:${before}`, name);
    for (const one of [id, `name:${groupNameKey(name)}`, key]) if (one !== undefined) groups.set(one, name);
  }
  if (kind.name === 'apis') {
    const identifier = String(state.identifier);
    for (const one of [id, comparableIdentifier(identifier), identifier, key])
      if (one !== undefined) apis.set(one, identifier);
  }
}

function readEntry(
  deps: Deps,
  { kind, entry, names, problems }: { kind: Kind; entry: Entry; names: Names; problems: FieldProblem[] },
): Read[] {
  const found: FieldProblem[] = [];
  for (const member of Object.keys(entry.value).filter((name) => !kind.members.includes(name)))
    found.push({
      path: member,
      message: kind.memberProblem?.(member) ?? `Is not known. There are: ${kind.members.join(', ')}.`,
    });
  const { secret: _, ...value } = entry.value;
  const known = Object.fromEntries(Object.entries(value).filter(([name]) => kind.members.includes(name)));
  // What reads a client has messages of its own for all of it.
  const misshapen = kind.name === 'clients' ? [] : shapes[kind.name].problems(known);
  found.push(...misshapen);
  let state: State | undefined;
  try {
    if (misshapen.length === 0) state = kind.read(deps, known, names, entry.key);
  } catch (error) {
    if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
    found.push(...error.problems);
  }
  problems.push(...found.map(({ path, message }) => ({ path: entry.placeOf(path), message })));
  return state === undefined || found.length > 0 ? [] : [{ entry, state }];
}

function taken(kind: Kind, read: readonly Read[]): FieldProblem[] {
  const seen = new Map<string, Entry>();
  return read.flatMap(({ entry, state }) => {
    const other = seen.get(kind.recognizedBy(state));
    seen.set(kind.recognizedBy(state), entry);
    return other ? [{ path: entry.placeOf(), message: `Is the same as ${other.placeOf()}.` }] : [];
  });
}

/** By what apply remembers, else by what both are called. */
function match(
  kind: Kind,
  { read, rows, existing }: { read: readonly Read[]; rows: readonly Declared[]; existing: readonly Existing[] },
): Matched[] {
  const known = read.map((one) => {
    const row = rows.find(({ resource_key }) => resource_key === one.entry.key);
    const found = row && existing.find(({ id }) => id === row.resource_id);
    return { ...one, row: found && row, found };
  });
  const claimed = new Set(known.flatMap(({ found }) => (found ? [found.id] : [])));
  return known.map((one) => {
    if (one.found) return one;
    const found = existing.find((other) => !claimed.has(other.id) && isRecognized(kind, one.state, other.state));
    if (found) claimed.add(found.id);
    return { ...one, found };
  });
}

/** One that differs in what cannot be changed is another one of the same name, unless there can be no other. */
const isRecognized = (kind: Kind, wanted: State, here: State): boolean =>
  kind.recognizedBy(wanted) === kind.recognizedBy(here) &&
  (kind.isUnique === true || kind.fixed.every((field) => !(field in wanted) || sameJson(wanted[field], here[field])));

const sameJson = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

async function compare(
  kind: Kind,
  { entry, state }: Matched,
  { options, problems, existing }: { options: Options; problems: FieldProblem[]; existing: Existing | undefined },
): Promise<Step | undefined> {
  const refuse = (pointer: string, message: string) => problems.push({ path: entry.placeOf(pointer), message });
  const reference = entry.value.secret;
  const read = reference === undefined ? undefined : readSecret(reference, { ...entry, ...options });
  const secret = read && 'secret' in read ? read.secret : undefined;
  if (read && 'problem' in read) refuse(secretField, read.problem);
  else if (secret !== undefined && !kind.usesSecret(state)) refuse(secretField, 'It has no secret.');
  const wrong = secret === undefined ? undefined : kind.secretProblem?.(secret);
  if (wrong !== undefined) refuse(secretField, wrong);
  if (!existing && reference === undefined && kind.needsSecret)
    refuse(secretField, 'Is needed for a new one: it was made elsewhere.');
  const fields = Object.keys(state);
  const kept = kind.keptFields;
  const removed = Object.keys(existing?.state ?? {}).filter(
    (field) => !(field in state) && options.prune && kept !== undefined && field.startsWith(kept),
  );
  const differences: Difference[] = [...fields, ...removed]
    .filter((field) => !sameJson(existing?.state[field], state[field]))
    .map((field) => ({ field, before: existing?.state[field], after: state[field] }));
  const hasAnother = existing && secret !== undefined && wrong === undefined && !(await existing.hasSecret?.(secret));
  if (hasAnother) differences.push({ field: secretField, before: hidden, after: hidden });
  if (existing) {
    for (const { field } of differences.filter(({ field }) => kind.fixed.includes(field)))
      refuse(field, 'Cannot be changed. Give the entry another key, and so make another one.');
  }
  if (differences.length === 0) return undefined;
  const common = { kind, key: entry.key, name: nameOf(kind, state), state, existing, secret };
  return { ...common, action: existing ? 'change' : 'create', differences };
}

async function removal(deps: Deps, kind: Kind, row: Declared, existing: Existing): Promise<Step> {
  const loss = row.made_by_apply ? await kind.lossOf?.(deps, existing) : undefined;
  return {
    action: row.made_by_apply ? 'delete' : 'forget',
    ...{ kind, key: row.resource_key, name: nameOf(kind, existing.state), differences: [] },
    ...{ state: existing.state, existing, secret: undefined, ...(loss !== undefined && { loss }) },
  };
}
