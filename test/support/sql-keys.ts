import { type Node, nodesIn, parse, stringsIn } from './sql-constructs.ts';

/** What the scripts of all migrations make: keys and foreign keys by their columns. */
export type Table = {
  name: string;
  columns: Map<string, { isNullable: boolean }>;
  uniques: string[][];
  foreignKeys: { column: string; references: string }[];
};

export function tablesOf(scripts: readonly string[]): ReadonlyMap<string, Table> {
  const tables = new Map<string, Table>();
  const uniqueIndexes = new Map<string, { table: Table; columns: string[] }>();
  const add = (table: Table, { colname, constraints }: Node) => {
    const column = String(colname);
    const all = nodesIn(constraints).filter(({ kind }) => kind === 'Constraint');
    const has = (type: string) => all.some(({ node }) => node.contype === type);
    table.columns.set(column, { isNullable: !has('CONSTR_NOTNULL') && !has('CONSTR_PRIMARY') });
    if (has('CONSTR_PRIMARY') || has('CONSTR_UNIQUE')) table.uniques.push([column]);
    for (const { node } of all) {
      if (node.contype === 'CONSTR_FOREIGN') {
        table.foreignKeys.push({ column, references: String((node.pktable as Node).relname) });
      }
    }
  };
  for (const statement of scripts.flatMap((script) => parse(script))) {
    const { CreateStmt, AlterTableStmt, IndexStmt, DropStmt } = statement as Record<string, Node>;
    const relation = (CreateStmt ?? AlterTableStmt ?? IndexStmt)?.relation as Node | undefined;
    const name = String(relation?.relname);
    if (CreateStmt) tables.set(name, { name, columns: new Map(), uniques: [], foreignKeys: [] });
    const table = tables.get(name);
    for (const { kind, node } of nodesIn(CreateStmt ?? AlterTableStmt)) {
      if (kind === 'ColumnDef') add(table!, node);
      if (kind === 'Constraint' && node.keys) table!.uniques.push(stringsIn(node.keys));
    }
    if (IndexStmt?.unique) {
      const elements = nodesIn(IndexStmt.indexParams).filter(({ kind }) => kind === 'IndexElem');
      const columns = elements.map(({ node }) => String(node.name));
      table!.uniques.push(columns);
      uniqueIndexes.set(String(IndexStmt.idxname), { table: table!, columns });
    }
    for (const index of stringsIn(DropStmt?.objects)) {
      const dropped = uniqueIndexes.get(index);
      if (dropped) dropped.table.uniques = dropped.table.uniques.filter((columns) => columns !== dropped.columns);
    }
  }
  return tables;
}

/** A table that a statement reads or changes, and the column by which it finds its rows. */
export type Access = {
  table: string;
  /** `named`: equal to a parameter. `from`: equal to a column of another table whose rows are found. */
  by: { named: string } | { column: string; from: string } | undefined;
};

type Instance = Access & { alias: string };
type Side = { instance: Instance; column: string } | 'parameter' | undefined;

/**
 * How a statement finds the rows of each table: only conditions that hold for all of them count, so nothing within `or`.
 * The table into which it inserts is left out.
 */
export function accessesOf(sql: string, tables: ReadonlyMap<string, Table>): Access[] {
  const instances: Instance[] = [];
  const equalities: [Side, Side][] = [];
  for (const statement of parse(sql)) readLevel(Object.values(statement)[0] as Node, []);
  for (const sides of equalities) {
    const named = sides.find((side) => typeof side === 'object');
    if (sides.includes('parameter') && typeof named === 'object' && isUnique(named)) {
      named.instance.by ??= { named: named.column };
    }
  }
  for (let isGrowing = true; isGrowing; ) {
    isGrowing = false;
    for (const [left, right] of equalities.flatMap(([one, other]): [Side, Side][] => [
      [one, other],
      [other, one],
    ])) {
      if (typeof left !== 'object' || typeof right !== 'object') continue;
      if (left.instance === right.instance || left.instance.by === undefined || right.instance.by !== undefined)
        continue;
      right.instance.by = { column: right.column, from: left.instance.table };
      isGrowing = true;
    }
  }
  return instances.map(({ table, by }) => ({ table, by }));

  function isUnique({ instance: { table }, column }: Exclude<Side, string | undefined>): boolean {
    return tables.get(table)!.uniques.some((columns) => columns.length === 1 && columns[0] === column);
  }

  /** A query, a change or what stands in one, with the tables of those around it. */
  function readLevel(node: Node, outer: Instance[]): void {
    const own: Instance[] = [];
    const conditions: unknown[] = [node.whereClause];
    const sources = [node.fromClause, node.usingClause, node.valuesLists ? undefined : undefined];
    if (node.relation && !node.cols && !node.selectStmt) own.push(instanceOf(node.relation as Node));
    for (const source of sources) readSource(source);
    instances.push(...own);
    // What a statement inserts into is known to its `returning` alone.
    const inserted = node.selectStmt ? [instanceOf(node.relation as Node)] : [];
    for (const target of inserted) target.by = { column: 'the inserted row', from: target.table };
    const visible = [...own, ...inserted, ...outer];
    for (const condition of conditions.flatMap(conjunctsOf)) {
      const { A_Expr } = condition as { A_Expr?: Node };
      if (A_Expr?.kind !== 'AEXPR_OP' || stringsIn(A_Expr.name)[0] !== '=') continue;
      equalities.push([sideOf(A_Expr.lexpr, visible), sideOf(A_Expr.rexpr, visible)]);
    }
    readBelow(node, visible);

    function readSource(source: unknown): void {
      if (Array.isArray(source)) for (const one of source) readSource(one);
      const { RangeVar, JoinExpr } = (source ?? {}) as { RangeVar?: Node; JoinExpr?: Node };
      if (RangeVar) own.push(instanceOf(RangeVar));
      if (JoinExpr) {
        readSource(JoinExpr.larg);
        readSource(JoinExpr.rarg);
        conditions.push(JoinExpr.quals);
      }
    }
  }

  function readBelow(value: unknown, visible: Instance[]): void {
    if (typeof value !== 'object' || value === null) return;
    for (const [kind, child] of Object.entries(value)) {
      if (kind === 'SelectStmt') readLevel(child as Node, visible);
      else readBelow(child, visible);
    }
  }

  function sideOf(value: unknown, visible: Instance[]): Side {
    const { ColumnRef, ParamRef } = (value ?? {}) as { ColumnRef?: Node; ParamRef?: Node };
    if (ParamRef) return 'parameter';
    if (!ColumnRef) return undefined;
    const [first = '', second] = stringsIn(ColumnRef.fields);
    const column = second ?? first;
    const instance = second
      ? visible.find(({ alias }) => alias === first)
      : visible.find(({ table }) => tables.get(table)?.columns.has(column));
    return instance && { instance, column };
  }
}

const instanceOf = ({ relname, alias }: Node): Instance => ({
  table: String(relname),
  alias: String((alias as Node | undefined)?.aliasname ?? relname),
  by: undefined,
});

function conjunctsOf(condition: unknown): unknown[] {
  const { BoolExpr } = (condition ?? {}) as { BoolExpr?: { boolop: string; args: unknown[] } };
  if (BoolExpr?.boolop === 'AND_EXPR') return BoolExpr.args.flatMap(conjunctsOf);
  return condition === undefined ? [] : [condition];
}
