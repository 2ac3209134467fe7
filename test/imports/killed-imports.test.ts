import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { preparedSettings, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { repeated } from '../support/repeated.ts';
import { scratchFolder } from '../support/scratch.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type Settings, signetCommand } from '../support/server-process.ts';

const rounds = repeated(2);
const users = Array.from({ length: 500 * rounds }, (_, number) => ({
  external_id: `x${number}`,
  email: `user${number}@example.com`,
  name: `User ${number}`,
  preferred_username: `user-${number}`,
  totp: { secret: 'JBSWY3DPEHPK3PXP' },
}));

/** @param moment milliseconds after a start, when it may have imported none, some or all. */
async function importAndKill(path: string, env: Settings, moment: number): Promise<void> {
  const { PATH } = process.env;
  const child = spawn(signetCommand, ['users', 'import', path], { env: { PATH, ...env }, stdio: 'ignore' });
  const ended = once(child, 'close');
  await sleep(600 + moment);
  child.kill('SIGKILL');
  await ended;
}

onBothEngines(
  'an import that is killed is continued by the same command: nothing twice, nothing lost',
  async (t, engine) => {
    const random = seededRandom(t);
    const settings = await preparedSettings(t, engine);
    const path = join(await scratchFolder('import'), 'users.jsonl');
    await writeFile(path, users.map((one) => JSON.stringify(one)).join('\n'));
    for (let kill = 0; kill < rounds; kill += 1) await importAndKill(path, settings, random.below(600));
    const done = await succeed(['users', 'import', path], settings);
    t.diagnostic(`${done.unchanged} were there after the last kill`);
    assert.deepEqual([Number(done.imported) + Number(done.unchanged), done.refused], [users.length, 0]);

    const seen = new Set<string>();
    for (let after: string | undefined; seen.size < users.length; ) {
      const more = after === undefined ? [] : ['--after', after];
      const page = await succeed(['users', 'list', '--limit', '500', ...more], settings);
      for (const { email } of page.users as { email: string }[]) seen.add(email);
      if (page.next === null) break;
      after = String(page.next);
    }
    assert.deepEqual([...seen].sort(), users.map(({ email }) => email).sort());
    for (const { email } of [users[0]!, users.at(-1)!]) {
      const { factors } = (await succeed(['users', 'show', email, '--all'], settings)) as { factors: { totp: string } };
      assert.equal(factors.totp, 'active');
    }
  },
);
