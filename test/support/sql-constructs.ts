import { loadModule, parseSync } from 'libpg-query';

/** Something that a database may refuse, and where it stands: a table, a key, a statement of the connection. */
export type Construct = { construct: string; where: string };

/** A node of the tree that PostgreSQL's own parser makes, by the name of its kind. */
export type Node = Readonly<Record<string, unknown>>;

await loadModule();

/** @returns the statements of a script, each by its kind. @throws where PostgreSQL would see a syntax error. */
export const parse = (script: string): Node[] =>
  ((parseSync(script) as { stmts?: { stmt?: Node }[] }).stmts ?? []).map(({ stmt }) => stmt!);

/** @param where what the constructs stand in, if not the table that each statement is about. */
export const constructsIn = (script: string, where?: string): Construct[] =>
  parse(script).flatMap((statement) => {
    const table = where ?? tableOf(statement);
    const constructs = nodesIn(statement).flatMap(({ kind, node }) => [...constructsOf(kind, node)]);
    return [...new Set(constructs)].map((construct) => ({ construct, where: table }));
  });

/** Where a member can be of one kind only, the tree names a node by the member instead: `relation`, `whereClause`. */
export function nodesIn(value: unknown, found: { kind: string; node: Node }[] = []): { kind: string; node: Node }[] {
  if (typeof value !== 'object' || value === null) return found;
  for (const [kind, child] of Object.entries(value)) {
    if (typeof child !== 'object' || child === null) continue;
    if (!Array.isArray(child)) found.push({ kind, node: child as Node });
    nodesIn(child, found);
  }
  return found;
}

/** The table that a statement changes, or the first that it reads; no name that it has made itself. */
export function tableOf(statement: unknown): string {
  const nodes = nodesIn(statement).map(({ node }) => node);
  const own = new Set(nodes.map(({ ctename }) => ctename));
  const named = nodes.find(({ relname }) => typeof relname === 'string' && !own.has(relname));
  return String(named?.relname ?? '');
}

export const stringsIn = (value: unknown): string[] =>
  nodesIn(value).flatMap(({ kind, node }) => (kind === 'String' ? [String(node.sval ?? '')] : []));
const lastString = (value: unknown): string => stringsIn(value).at(-1) ?? '';
const has = (value: unknown, kind: string): boolean => nodesIn(value).some((found) => found.kind === kind);
const select = (value: unknown): Node => (value as { SelectStmt?: Node } | undefined)?.SelectStmt ?? {};

/** Kinds that stand in every statement, or whose parent has named them. */
const unremarkable = new Set([
  ...['A_Const', 'A_Indirection', 'A_Star', 'AlterTableStmt', 'CaseWhen', 'ColumnRef', 'Integer', 'List', 'ParamRef'],
  ...['RangeSubselect', 'RangeVar', 'ResTarget', 'SortBy', 'String', 'TypeName', 'DefElem'],
]);

const alterations = new Map([
  ['AT_AddColumn', 'alter table … add column'],
  ['AT_SetRelOptions', 'alter table … set (…)'],
]);

const clauses: Readonly<Record<string, string>> = {
  distinctClause: 'distinct',
  groupClause: 'group by',
  havingClause: 'having',
  sortClause: 'order by',
  limitCount: 'limit',
  limitOffset: 'offset',
  windowClause: 'window',
  lockingClause: 'for update',
};
const expressions: Readonly<Record<string, string>> = {
  AEXPR_OP: '',
  AEXPR_DISTINCT: 'is distinct from ',
  AEXPR_IN: 'in ',
  AEXPR_LIKE: 'like ',
};
const subqueries: Readonly<Record<string, string>> = {
  EXISTS_SUBLINK: 'exists (select)',
  ANY_SUBLINK: 'in (select)',
  EXPR_SUBLINK: 'scalar subquery',
};
const constraints: Readonly<Record<string, string>> = {
  CONSTR_NOTNULL: 'not null',
  CONSTR_DEFAULT: 'default',
  CONSTR_PRIMARY: 'primary key',
  CONSTR_UNIQUE: 'unique',
};
const deleteActions: Readonly<Record<string, string>> = { c: 'cascade', n: 'set null' };

/** What a node is by a member of its own, each unless it has this value. */
const usual: Readonly<Record<string, { value: unknown; otherwise: string }>> = {
  relpersistence: { value: 'p', otherwise: 'temporary or unlogged table' },
  inh: { value: true, otherwise: 'only' },
  accessMethod: { value: 'btree', otherwise: 'index of another kind' },
  ctematerialized: { value: 'CTEMaterializeDefault', otherwise: 'materialized' },
  sortby_nulls: { value: 'SORTBY_NULLS_DEFAULT', otherwise: 'nulls first' },
  deferrable: { value: undefined, otherwise: 'deferrable' },
  concurrent: { value: undefined, otherwise: 'concurrently' },
  agg_filter: { value: undefined, otherwise: 'filter' },
  agg_distinct: { value: undefined, otherwise: 'aggregate of distinct values' },
  lateral: { value: undefined, otherwise: 'lateral' },
};

function* constructsOf(kind: string, node: Node): Generator<string> {
  for (const [member, { value, otherwise }] of Object.entries(usual)) {
    if (member in node && node[member] !== value) yield otherwise;
  }
  if (typeof node.relname === 'string' && !('inh' in node)) yield 'only';
  const named = (names: Readonly<Record<string, string>>, key: unknown) => names[String(key)] ?? String(key);
  if (typeof node.relname === 'string' && node.relname.startsWith('pg_')) yield node.relname;
  switch (kind) {
    case 'SelectStmt': {
      const union = { SETOP_UNION: 'union', SETOP_NONE: '' };
      yield node.valuesLists ? 'values' : 'select';
      if (named(union, node.op)) yield `${named(union, node.op)}${node.all ? ' all' : ''}`;
      for (const [clause, words] of Object.entries(clauses)) if (node[clause] !== undefined) yield words;
      return;
    }
    case 'InsertStmt':
      yield 'insert';
      if (!select(node.selectStmt).valuesLists) yield 'insert … select';
      if (has(select(node.selectStmt).valuesLists, 'SubLink')) yield 'subquery in values';
      return;
    case 'UpdateStmt':
      return yield node.fromClause ? 'update … from' : 'update';
    case 'DeleteStmt':
      return yield node.usingClause ? 'delete … using' : 'delete';
    case 'onConflictClause': {
      const isUpdate = node.action === 'ONCONFLICT_UPDATE';
      yield isUpdate ? 'on conflict do update' : 'on conflict do nothing';
      if (isUpdate && node.whereClause) yield 'on conflict do update … where';
      if ((node.infer as Node | undefined)?.whereClause) yield 'on conflict of a partial index';
      return;
    }
    case 'returningClause':
      return yield 'returning';
    case 'withClause':
      return yield node.recursive ? 'with recursive' : 'with';
    case 'CommonTableExpr':
      if (!(node.ctequery as Node).SelectStmt) yield 'with a change';
      return;
    case 'FuncCall':
      return yield `${lastString(node.funcname)}()${node.over ? ' over' : ''}`;
    case 'A_Expr':
      return yield `${named(expressions, node.kind)}${lastString(node.name)}`;
    case 'BoolExpr':
      return yield String(node.boolop).replace('_EXPR', '').toLowerCase();
    case 'NullTest':
      return yield 'is null';
    case 'CaseExpr':
      return yield 'case';
    case 'CoalesceExpr':
      return yield 'coalesce()';
    case 'RowExpr':
      return yield 'row value';
    case 'SubLink':
      return yield named(subqueries, node.subLinkType);
    case 'JoinExpr':
      return yield `${String(node.jointype).replace('JOIN_', '').toLowerCase()} join`;
    case 'TypeCast':
      return yield `cast to ${lastString((node.typeName as Node).names)}`;
    case 'CreateStmt':
      return yield 'create table';
    case 'ColumnDef':
      return yield `column ${lastString((node.typeName as Node).names)}`;
    case 'collClause':
      return yield `collate "${lastString(node)}"`;
    case 'Constraint': {
      yield node.contype === 'CONSTR_FOREIGN' ? 'foreign key' : named(constraints, node.contype);
      if (node.contype === 'CONSTR_FOREIGN') yield `on delete ${named(deleteActions, node.fk_del_action)}`;
      return;
    }
    case 'AlterTableCmd':
      return yield alterations.get(String(node.subtype)) ?? String(node.subtype);
    case 'IndexStmt':
      yield node.unique ? 'create unique index' : 'create index';
      if (node.whereClause) yield 'partial index';
      return;
    case 'IndexElem':
      if (node.expr) yield 'index on an expression';
      return;
    case 'RangeFunction':
      return yield 'function in from';
    case 'DropStmt':
      return yield `drop ${String(node.removeType).replace('OBJECT_', '').toLowerCase()}`;
    case 'TransactionStmt':
      return yield String(node.kind).replace('TRANS_STMT_', '').toLowerCase();
    default:
      if (/^[A-Z]/.test(kind) && !unremarkable.has(kind)) yield kind;
  }
}
