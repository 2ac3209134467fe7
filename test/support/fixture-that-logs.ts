/** For `documents.test.ts`, which runs it as `npm test` runs its files; the name keeps it out of `npm test`. */
import { test } from 'node:test';

test('passes, and says so at the level of errors', () => {
  process.stderr.write('{"level":50,"msg":"something went wrong"}\n');
});
