import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { preparedSettings, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { repeated } from '../support/repeated.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type Settings, signetCommand } from '../support/server-process.ts';
import { newExportKey, recordsIn, sealedAnew } from '../support/transfers.ts';

const rounds = repeated(2);
const people = 150 * rounds;

function* lines(): Generator<string> {
  yield JSON.stringify({ format: 'signet-export', version: 1, issuer: 'https://old.test', exported_at: 1 });
  const line = (kind: string, record: object) => JSON.stringify({ kind, record });
  const ids = Array.from({ length: people }, (_, number) => `old|${number}`);
  for (let number = 0; number < 40; number += 1) {
    const group_id = `grp_${String(number).padStart(22, '0')}`;
    yield line('group', { group_id, name: `Group ${number}`, created_at: 1, updated_at: 1 });
  }
  for (const [number, sub] of ids.entries()) {
    const email = `user${number}@example.com`;
    const times = { created_at: 1, updated_at: 1 };
    yield line('user', { external_id: sub, sub, email, email_verified: false, disabled: false, ...times });
  }
  for (const [number, user_id] of ids.entries()) {
    yield line('group_member', { group_id: `grp_${String(number % 40).padStart(22, '0')}`, user_id, added_at: 1 });
  }
  for (const user_id of ids) {
    const write = { user_id, product: 'editor', plan: 'pro', status: 'active', source: 'billing', version: 1 };
    yield line('entitlement', { ...write, updated_at: 1 });
  }
}

/** @param moment milliseconds after a start, when it may have imported none, some or all. */
async function importAndKill(path: string, env: Settings, moment: number): Promise<void> {
  const { PATH } = process.env;
  const child = spawn(signetCommand, ['import', path], { env: { PATH, ...env }, stdio: 'ignore' });
  const ended = once(child, 'close');
  await sleep(600 + moment);
  child.kill('SIGKILL');
  await ended;
}

onBothEngines('an import of an export that is killed is continued: nothing twice, nothing lost', async (t, engine) => {
  const random = seededRandom(t);
  const { folder, recipient, read } = await newExportKey();
  const settings = await preparedSettings(t, engine);
  const path = join(folder, 'all.jsonl');
  await writeFile(path, sealedAnew([...lines()]));
  for (let kill = 0; kill < rounds; kill += 1) await importAndKill(path, settings, random.below(700));
  const done = await succeed(['import', path], settings);
  t.diagnostic(`${done.unchanged} were there after the last kill`);
  const given = recordsIn(await readFile(path, 'utf8'));
  assert.deepEqual([Number(done.imported) + Number(done.unchanged), done.refused], [given.length, 0]);

  const file = join(folder, 'again.age');
  await succeed(['export', file, '--recipient', recipient], settings);
  const members = (line: string) => {
    const { kind, record } = JSON.parse(line);
    delete record.groups; // of a user: what group_member says, by name
    return JSON.stringify([kind, Object.entries(record).sort()]);
  };
  assert.deepEqual(
    recordsIn(await read(file))
      .map(members)
      .sort(),
    given.map(members).sort(),
  );
});
