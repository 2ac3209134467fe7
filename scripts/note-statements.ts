/**
 * For `node --import`: notes every statement that the program composes in this process, by its text, and writes them to the
 * folder in `NOTED_STATEMENTS` when the process ends. Statements that a test writes as plain text are none of the program's.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sql } from '../src/platform/db/sql.ts';

const folder = process.env.NOTED_STATEMENTS;
const texts = new Set<string>();
const getter = Object.getOwnPropertyDescriptor(Sql.prototype, 'sql')?.get;

Object.defineProperty(Sql.prototype, 'sql', {
  get(this: Sql) {
    const text = String(getter?.call(this));
    texts.add(text);
    return text;
  },
});

process.on('exit', () => {
  if (!folder || texts.size === 0) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify([...texts]));
});
