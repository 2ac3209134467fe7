import { createCellTexts } from '../../src/platform/db/cell-texts.ts';
import { type Place, type TableName, tables } from '../../src/platform/db/tables.ts';
import { postgresMigrations } from './portable-sql.ts';
import { type Node, nodesIn, parse, stringsIn } from './sql-constructs.ts';

/**
 * What stands in the way of a statement in a store of several parts, in which the rows of a user are in one of them: it needs rows of two
 * parts, or has a construct that Citus refuses where each part is a schema, or takes to pieces (seen with 13.2).
 */
export function inTheWayOf(sql: string): string[] {
  return parse(sql).flatMap((statement) => {
    const named = statement as Record<string, Node | undefined>;
    const { InsertStmt: insert } = named;
    const select = (insert?.selectStmt as Record<string, Node> | undefined)?.SelectStmt;
    const ofFilled = insert === undefined || select?.valuesLists !== undefined ? [] : constructsInTheWay(insert);
    return [...placesInTheWay(statement), ...ofFilled, ...conditionsInTheWay(named)];
  });
}

/** Of an `insert … select`. */
function constructsInTheWay(insert: Node): string[] {
  const chosen = nodesIn(insert.selectStmt);
  const has = (value: unknown, kind: string) => nodesIn(value).some((one) => one.kind === kind);
  // What PostgreSQL calls stable is computed before, and the statement that Citus then writes anew is none.
  const joinsNumber = chosen.some(
    ({ kind, node }) =>
      kind === 'A_Expr' &&
      stringsIn(node.name)[0] === '||' &&
      [node.lexpr, node.rexpr].some((side) => isNumber(side as Node)),
  );
  return [
    ...(has(insert.returningClause, 'SubLink') ? ['a subquery behind returning of insert … select'] : []),
    ...(has(insert.selectStmt, 'RangeVar') ? [] : ['insert … select of no table']),
    ...(joinsNumber ? ['a number that is joined to text in insert … select, without a cast'] : []),
  ];
}

/**
 * Rows that are in no cell change by a condition that reads a shared table: where no column of theirs is compared with what it finds, Citus sends
 * the whole statement to any node that has a copy, though `explain` names the right one.
 */
function conditionsInTheWay({ UpdateStmt, DeleteStmt }: Node): string[] {
  const changed = (UpdateStmt ?? DeleteStmt) as Node | undefined;
  const target = (changed?.relation as Node | undefined)?.relname as TableName | undefined;
  if (target === undefined || tables[target]?.place !== 'each') return [];
  const isShared = (query: unknown) =>
    nodesIn(query).some(({ node }) => tables[node.relname as TableName]?.place === 'shared');
  const isCompared = ({ subLinkType, testexpr }: Node) =>
    subLinkType === 'ANY_SUBLINK' && (testexpr as Node).ColumnRef !== undefined;
  return nodesIn(changed!.whereClause).some(
    ({ kind, node }) => kind === 'SubLink' && isShared(node.subselect) && !isCompared(node),
  )
    ? [`a change of ${target} by a condition on a shared table, without a column that is compared`]
    : [];
}

const numberColumns = new Set(
  nodesIn(postgresMigrations().flatMap((script) => parse(script)))
    .filter(({ kind, node }) => kind === 'ColumnDef' && stringsIn((node.typeName as Node).names).includes('int8'))
    .map(({ node }) => node.colname),
);
const numberFunctions = new Set(['count', 'sum', 'row_number', 'extract']);

const isNumber = ({ ColumnRef, FuncCall, A_Const }: { ColumnRef?: Node; FuncCall?: Node; A_Const?: Node }): boolean =>
  numberColumns.has(stringsIn(ColumnRef?.fields).at(-1)) ||
  numberFunctions.has(stringsIn(FuncCall?.funcname).at(-1)!) ||
  A_Const?.ival !== undefined;

const textOf = createCellTexts('c0');

/** @returns tables of cells that {@link createCellTexts} leaves without the name of a schema, as the second one of `from a, b`. */
export function withoutSchema(sql: string): string[] {
  const isOfCell = (name: unknown) => ['user', 'key', 'each'].includes(tables[name as TableName]?.place);
  const ofCell = (text: string) => nodesIn(parse(text)).filter(({ node }) => isOfCell(node.relname));
  if (ofCell(sql).length === 0) return [];
  return ofCell(textOf(sql).sql).flatMap(({ node }) => (node.schemaname === 'c0' ? [] : [String(node.relname)]));
}

function placesInTheWay(statement: Node): string[] {
  const nodes = nodesIn(statement);
  const own = new Set(nodes.map(({ node }) => node.ctename));
  const named = nodes.map(({ node }) => node.relname).filter((name) => typeof name === 'string' && !own.has(name));
  const read = new Set(named.filter((name): name is TableName => String(name) in tables));
  const changed = (statement.InsertStmt ?? statement.UpdateStmt ?? statement.DeleteStmt) as Node | undefined;
  const target = (changed?.relation as Node | undefined)?.relname as TableName | undefined;
  const of = (place: Place) => [...read].filter((name) => tables[name].place === place);
  const [users, keys, each] = [of('user'), of('key'), of('each')];
  const elsewhere = [...users, ...keys, ...each];
  return [
    ...(keys.length > 1 || (keys.length === 1 && elsewhere.length > 1)
      ? [`rows of two parts: ${elsewhere.join(', ')}`]
      : []),
    ...(target !== undefined && tables[target].place === 'shared' && elsewhere.length > 0
      ? [`a change of ${target} that depends on ${elsewhere.join(', ')}`]
      : []),
  ];
}
