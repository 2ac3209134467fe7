import type { Caller } from '../audit/audit.ts';
import type { Deps } from '../oauth/deps.ts';
import type { FieldProblem } from '../platform/errors.ts';

/** In the order in which they are made: a later one may refer to an earlier one. */
export const kindNames = [
  'providers',
  'groups',
  'attributes',
  'apis',
  'clients',
  'client_hosts',
  'service_credentials',
  'webhooks',
  'brand',
  'settings',
] as const;
export type KindName = (typeof kindNames)[number];

/** Of which there is one: a file has it without a key. */
export const singleKinds: readonly KindName[] = ['brand', 'settings'];

/** Everything that a file says about a resource, or would say about one that is here, with what follows from what is left out. */
export type State = Readonly<Record<string, unknown>>;

export type Existing = {
  readonly id: string;
  readonly state: State;
  /** What it has, of what a file has only by reference: compared, and never shown. */
  hasSecret?(secret: string): boolean | Promise<boolean>;
};

/** What one file says may refer to what another says. */
export type Context = {
  /** Names of groups, by the key that a file has for one, by id, and by `name:` with the comparable form of the name. */
  readonly groups: ReadonlyMap<string, string>;
  /** Identifiers of APIs, by the key that a file has for one, by id, and by the identifier itself. */
  readonly apis: ReadonlyMap<string, string>;
};

export type Work = {
  readonly deps: Deps;
  readonly caller: Caller;
  /** The one that the file refers to; undefined: none. */
  readonly secret: string | undefined;
};

export type Compared = { readonly state: State; readonly existing: Existing | undefined };

/** What can be read only now. */
export type NewSecret = Readonly<Record<string, string>>;
export type Made = { id: string; secret?: NewSecret | undefined };

export type Kind = {
  readonly name: KindName;
  /** What cannot be changed: another one takes another key. */
  readonly fixed: readonly string[];
  /** By which one that was made in another way is recognized. */
  recognizedBy(state: State): string;
  /** What people call it; its `name` where there is no such function. */
  nameOf?(state: State): string;
  /** The key that an export has for one that has none; made of its name where there is no such function. */
  keyFor?(state: State): string;
  /** A new one comes with a secret that is made elsewhere. */
  readonly needsSecret?: true;
  /** What else goes with it, for the plan: words without a period. */
  lossOf?(deps: Deps, existing: Existing): Promise<string | undefined>;
  /** Whether no two may be recognized by the same. */
  readonly isUnique?: true;
  /** Fields that begin so are taken away by `--prune` alone, since nothing brings them back. */
  readonly keptFields?: string;
  /** Members of an entry, for the check of their names. */
  readonly members: readonly string[];
  /** Why it has no such member; undefined: it is not known. */
  memberProblem?(member: string): string | undefined;
  list(deps: Deps, context: Context): Promise<readonly Existing[]>;
  /** @throws {RequestError} `invalid_request` with the path of each problem within the entry. */
  read(deps: Deps, entry: Readonly<Record<string, unknown>>, context: Context, key: string): State;
  /** What takes the store to compare: the state that is wanted, the one that is here, and the paths of problems within the entry. */
  complete?(deps: Deps, compared: Compared): Promise<Compared & { readonly problems: readonly FieldProblem[] }>;
  /** Whether it has a secret at all. */
  usesSecret(state: State): boolean;
  secretProblem?(secret: string): string | undefined;
  create(work: Work, state: State, made: (id: string) => Promise<void>): Promise<NewSecret | undefined>;
  change(work: Work, existing: Existing, state: State, fields: readonly string[]): Promise<NewSecret | undefined>;
  remove(work: Work, existing: Existing): Promise<void>;
  /** As a file says it: without what follows from leaving it out. */
  write(state: State, key: string): Readonly<Record<string, unknown>>;
};

export const nameOf = (kind: Kind, state: State): string => kind.nameOf?.(state) ?? String(state.name);

/** The name of the field that stands for a secret. Neither value is ever shown. */
export const secretField = 'secret';

export const without = (values: Readonly<Record<string, unknown>>, defaults: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(values).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults[name])),
  );

/** A secret that an operator has made: as long as ours, and of what fits a header and a shell. */
export const secretProblem = (secret: string): string | undefined =>
  /^[\x21-\x7e]{32,200}$/.test(secret) ? undefined : 'The secret must be 32 to 200 visible ASCII characters.';
