import type { Step } from './engine.ts';

/** `db.query.summary` of the conventions for database spans: what is done to which tables, at most 255 characters. */
export type StatementSummary = { summary: string; operation: string; table: string | undefined };

/** Texts are ours and few. */
const known = new Map<string, StatementSummary>();
const maxKnown = 1_000;

/** @returns by what a span is named: `select grants`, or of a change `update grants, insert audit_log`. */
export function summaryOf(steps: readonly Step[]): StatementSummary {
  const done = steps.filter(({ isRequirement }) => !isRequirement);
  const [first, ...others] = (done.length === 0 ? steps : done).map(({ sql }) => summaryOfText(sql));
  if (first === undefined || others.length === 0)
    return first ?? { summary: 'batch', operation: 'batch', table: undefined };
  const parts = [...new Set([first, ...others].map(({ summary }) => summary))];
  return { summary: parts.join(', ').slice(0, 255), operation: 'batch', table: undefined };
}

function summaryOfText(sql: string): StatementSummary {
  const found = known.get(sql);
  if (found) return found;
  // Of a statement that begins with another (`with … as (update …)`) what changes something.
  const change = /\b(?:(insert)\s+into|(update)|(delete)\s+from)\s+(\w+)/i.exec(sql);
  const read = /\bfrom\s+(\w+)/i.exec(sql);
  const operation = (change?.[1] ?? change?.[2] ?? change?.[3] ?? 'select').toLowerCase();
  const table = change?.[4] ?? read?.[1];
  const summary = { summary: table === undefined ? operation : `${operation} ${table}`, operation, table };
  if (known.size >= maxKnown) known.clear();
  known.set(sql, summary);
  return summary;
}
