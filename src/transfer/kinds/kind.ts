import type { Claim, ClaimedBy } from '../../platform/claims.ts';
import { asWrite, type Write } from '../../platform/db/change.ts';
import type { Db, Part } from '../../platform/db/db.ts';
import type { ExportedRecord, ExportedTable, ImportChange } from '../../platform/db/exported-table.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { TObject } from '../../platform/schema.ts';
import { compile, type Validator } from '../../platform/validator.ts';
import type { TransferDeps } from '../deps.ts';

/** A record of the file that must have been imported before. `path`: the member that says so. */
export type Reference = { kind: string; id: string; path: string };

export type ImportOptions = {
  /** Whether what gives power over others is imported: roles, service credentials that administer, and providers. */
  roles: boolean;
};

/** What is exported and imported of one kind. `After`: the place of the last record of a page. */
export type Kind<After = unknown> = {
  readonly name: string;
  /** For the published schema. */
  readonly description: string;
  readonly schema: TObject;
  readonly shape: Validator<unknown>;
  /** By table, the columns that it fills. */
  readonly columns: ExportedTable['columns'];
  page(
    deps: TransferDeps,
    after: After | undefined,
    limit: number,
  ): Promise<{ page: readonly ExportedRecord[]; next: After | undefined }>;
  /** Among the records of its kind. */
  idOf(record: ExportedRecord): string;
} & (StoredKind | { readonly stored: undefined });

/** Users have an import of their own. */
export type StoredKind = {
  readonly stored: {
    references(record: ExportedRecord): readonly Reference[];
    /** What its room would refuse, too. */
    problems(deps: TransferDeps, record: ExportedRecord): readonly FieldProblem[];
    /** Why it is left out, without being refused. */
    omission(record: ExportedRecord, options: ImportOptions, deps: TransferDeps): string | undefined;
    /** Where a record is. */
    partOf(db: Db, record: ExportedRecord): Part;
    /** Ids that something has already. */
    taken(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>>;
    /** Ids that something has which is not about to be deleted. */
    existing(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>>;
    /** Says that an id, or a value that must be unique, is taken. */
    readonly takenMessage: string;
    /** Whether records of other kinds refer to it. */
    readonly isReferredTo: boolean;
    /** What becomes of a record that refers to nothing. */
    readonly dangling: 'refused' | 'left_out';
    /** Once records of it were stored. */
    done(deps: TransferDeps): void;
    /** What its user takes by it. */
    claimsOf(deps: TransferDeps, record: ExportedRecord): ClaimedBy[];
    writes(deps: TransferDeps, record: ExportedRecord, change: ImportChange): ReturnType<ExportedTable['writes']>;
  };
};

type Definition = {
  name: string;
  description: string;
  table: ExportedTable;
  references?: (record: ExportedRecord) => readonly Reference[];
  problems?: (deps: TransferDeps, record: ExportedRecord) => readonly FieldProblem[];
  omission?: StoredKind['stored']['omission'];
  takenMessage?: string;
  /** What its user takes by it. */
  claims?: (deps: TransferDeps, record: ExportedRecord) => readonly Claim[];
  /** What else follows from a record. */
  beside?: (deps: TransferDeps, record: ExportedRecord) => readonly Sql[];
  /** Its row may be there before it. */
  changesRow?: true;
  isReferredTo?: true;
  dangling?: StoredKind['stored']['dangling'];
  /** More there may not be. */
  most?: number;
  /** Once records of it were stored. */
  stored?: (deps: TransferDeps) => void;
};

/** A kind whose records are rows of a table. */
export function tableKind({
  name,
  description,
  table,
  references = () => [],
  problems = () => [],
  omission = () => undefined,
  takenMessage = 'There is one here already.',
  changesRow,
  isReferredTo,
  dangling = 'refused',
  most,
  stored = () => undefined,
  beside = () => [],
  claims,
}: Definition): Kind {
  const isOneColumn = table.key.length === 1;
  const existing = (db: Db, ids: readonly string[], counting: boolean) =>
    isOneColumn && !changesRow ? table.existing(db, ids, counting) : Promise.resolve(new Set<string>());
  return {
    name,
    description,
    schema: table.schema,
    shape: compile(table.schema),
    columns: table.columns,
    page: (deps, after, limit) => table.page(deps.db, deps.vault, after as never, limit),
    idOf: (record) => table.key.map((column) => textOf(record[column])).join('\n'),
    stored: {
      references,
      problems,
      omission,
      partOf: table.partOf,
      taken: (db, ids) => existing(db, ids, false),
      existing: (db, ids) => existing(db, ids, true),
      takenMessage,
      isReferredTo: isReferredTo === true,
      dangling,
      done: stored,
      claimsOf: (deps, record) =>
        claims === undefined ? [] : [{ user_id: String(record.user_id), taken: claims(deps, record) }],
      writes: (deps, record, change) => [
        ...table.writes(record, change, most),
        ...beside(deps, record).map((statement) => asWrite(statement) as Write<unknown, true>),
      ],
    },
  };
}

/** Of a record that was not checked: a list or an object has no text that is worth a failure. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** A reference by a member, if the record has it. */
export const refer =
  (kind: string, ...members: readonly string[]) =>
  (record: ExportedRecord): readonly Reference[] =>
    members.flatMap((path) => {
      const value = record[path] ?? [];
      const ids = Array.isArray(value) ? (value as readonly string[]) : [String(value)];
      return ids.map((id) => ({ kind, id, path }));
    });

export const all =
  (...references: readonly ((record: ExportedRecord) => readonly Reference[])[]) =>
  (record: ExportedRecord): readonly Reference[] =>
    references.flatMap((one) => one(record));
