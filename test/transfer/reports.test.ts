import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { preparedSettings, refused, succeed } from '../support/command-line.ts';
import { newExportKey, sealedAnew } from '../support/transfers.ts';

const user = { external_id: 'old|1', sub: 'old|1', email: 'mary@example.com' };
const header = { format: 'signet-export', version: 1, issuer: 'https://old.test', exported_at: 1 };

test('a report that cannot be written is noticed before anything is imported', async (t) => {
  const { folder } = await newExportKey();
  const to = await preparedSettings(t);
  const file = join(folder, 'all.jsonl');
  await writeFile(file, sealedAnew([JSON.stringify(header), JSON.stringify({ kind: 'user', record: user })]));
  const report = ['--report', join(folder, 'no/such/folder/report')];
  const sentence = /report cannot be written to .*ENOENT.*--report\. Nothing was changed/;
  await refused(['import', file, ...report], to, sentence);
  const users = join(folder, 'users.jsonl');
  await writeFile(users, `${JSON.stringify(user)}\n`);
  await refused(['users', 'import', users, ...report], to, sentence);
  assert.deepEqual((await succeed(['users', 'list'], to)).users, []);
});
