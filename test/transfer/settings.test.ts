import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { changedSettings } from '../support/changed-settings.ts';
import { preparedSettings, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import type { Settings } from '../support/server-process.ts';
import { newExportKey, recordsIn, sealedAnew } from '../support/transfers.ts';

type Json = Record<string, unknown>;

/** What is refused or left out, with the reason. */
async function reported(args: string[], env: Settings) {
  const { code, stdout } = await runCommand([...args, '--json'], { env });
  const report = await readFile(`${args[1]}.report.jsonl`, 'utf8').catch(() => '');
  return { code, done: JSON.parse(stdout) as Json, report };
}

onBothEngines(
  'an export has the settings that were changed while the server ran, and an import restores them',
  async (t, engine) => {
    const { folder, recipient, identityFile, read } = await newExportKey();
    const [from, to] = [await preparedSettings(t, engine), await preparedSettings(t, engine)];
    const set = (env: Settings, name: string, value: string) => succeed(['config', 'set', name, value], env);
    await set(from, 'SIGNET_SIGN_UP', 'off');
    await set(from, 'SIGNET_LANGUAGES', 'fr,en');
    await set(from, 'SIGNET_LIMIT_PENDING_CLIENTS', '7');
    await set(from, 'SIGNET_REVIEW_MAILS', 'off');
    await set(from, 'SIGNET_REVIEW_MAILS', '');
    const file = join(folder, 'all.age');
    const secretly = { ...from, SIGNET_SMTP_URL: 'smtp://ada:hunter2@mail.example.com' };
    await succeed(['export', file, '--recipient', recipient], secretly);
    const text = await read(file);
    const records = recordsIn(text).map((line) => JSON.parse(line) as { kind: string; record: Json });
    const settings = records
      .filter(({ kind }) => kind === 'setting')
      .map(({ record: { name, value } }) => [name, value]);
    assert.deepEqual(settings.sort(), [
      ['SIGNET_LANGUAGES', 'fr,en'],
      ['SIGNET_LIMIT_PENDING_CLIENTS', '7'],
      ['SIGNET_SIGN_UP', 'off'],
    ]);
    assert.doesNotMatch(text, /hunter2|SIGNET_SMTP_URL/, 'nothing of the environment');

    // Changed and set back, as if nobody had; and one that somebody has decided here.
    await set(to, 'SIGNET_SIGN_UP', 'off');
    await set(to, 'SIGNET_SIGN_UP', '');
    await set(to, 'SIGNET_LANGUAGES', 'de');
    const fixed = { ...to, SIGNET_LIMIT_PENDING_CLIENTS: '3' };
    const command = ['import', file, '--identity', identityFile];
    const tried = await reported([...command, '--dry-run'], fixed);
    assert.deepEqual([tried.done.imported, tried.done.refused, tried.done.left_out], [1, 1, 1]);
    assert.deepEqual(await changedSettings(to), { SIGNET_LANGUAGES: 'de' }, 'a trial changes nothing');

    const first = await reported(command, fixed);
    assert.deepEqual([first.code, first.done.imported, first.done.refused, first.done.left_out], [1, 1, 1, 1]);
    assert.match(first.report, /This setting was changed here, too/);
    assert.match(first.report, /The environment of this server sets it, and wins/);
    assert.deepEqual(await changedSettings(to), { SIGNET_SIGN_UP: 'off', SIGNET_LANGUAGES: 'de' });

    await set(to, 'SIGNET_LANGUAGES', '');
    await set(to, 'SIGNET_SIGN_UP', 'on');
    const second = await reported(command, to);
    assert.deepEqual([second.code, second.done.imported, second.done.unchanged], [0, 2, 1]);
    assert.deepEqual(
      await changedSettings(to),
      { SIGNET_SIGN_UP: 'on', SIGNET_LANGUAGES: 'fr,en', SIGNET_LIMIT_PENDING_CLIENTS: '7' },
      'what was changed since stays',
    );
    await set(to, 'SIGNET_LANGUAGES', 'en');
    assert.equal((await changedSettings(to)).SIGNET_LANGUAGES, 'en', 'and it is changed like others');
  },
);

onBothEngines('a record of a setting that a server would not take is refused with its reason', async (t, engine) => {
  const { folder } = await newExportKey();
  const to = await preparedSettings(t, engine);
  const header = { format: 'signet-export', version: 1, issuer: 'https://old.test', exported_at: 1 };
  const path = join(folder, 'settings.jsonl');
  const wrong: [record: Json, reason: RegExp][] = [
    [{ name: 'SIGNET_ADMIN_SECOND_FACTOR', value: 'off' }, /Is no setting that is changed while the server runs/],
    [{ name: 'SIGNET_SMTP_URL', value: 'smtp://ada:hunter2@mail.example.com' }, /Is no setting that is changed/],
    [{ name: 'SIGNET_SIGN_UP', value: 'maybe' }, /SIGNET_SIGN_UP must be/],
    [{ name: 'SIGNET_SIGN_UP', value: ' off' }, /Must be as an export has it/],
    [{ name: 'SIGNET_LANGUAGES', value: '' }, /Must be as an export has it/],
    [{ name: 'SIGNET_LANGUAGES' }, /Is required/],
    [{ name: 'SIGNET_SIGN_UP', value: 'off', revision: 1 }, /unknown member/],
  ];
  for (const [record, reason] of wrong) {
    const line = { kind: 'setting', record: { changed_at: 1, ...record } };
    await writeFile(path, sealedAnew([header, line].map((one) => JSON.stringify(one))));
    const { code, done, report } = await reported(['import', path], to);
    assert.deepEqual([code, done.refused, done.imported], [1, 1, 0], JSON.stringify(record));
    assert.match(report, reason);
    assert.doesNotMatch(report, /hunter2/);
  }
  assert.deepEqual(await changedSettings(to), {});
});
