import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { changeableSettings } from '../../src/platform/settings/changeable-settings.ts';
import { changedSettings, listedSettings } from '../support/changed-settings.ts';
import { preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import type { Settings } from '../support/server-process.ts';

type Json = Record<string, unknown>;

function writer(env: Settings) {
  const folder = join(String(env.SIGNET_DATA_DIR), 'declared');
  mkdirSync(folder, { recursive: true });
  return (settings: string, name = 'settings.yaml') => {
    const path = join(folder, name);
    writeFileSync(path, `apiVersion: signet/v1\nsettings:${settings}\n`);
    return ['apply', '-f', path];
  };
}

const changesOf = (answer: Json) =>
  (answer.changes as { action: string; fields: { field: string; before: unknown; after: unknown }[] }[]).flatMap(
    ({ action, fields }) => fields.map(({ field, before, after }) => `${action} ${field}: ${before} -> ${after}`),
  );

async function audited(env: Settings): Promise<string[]> {
  const { events } = await succeed(['audit', 'list', '--action', 'setting.changed'], env);
  return (events as Json[]).map(({ actor, target, after }) => `${actor} ${target} ${JSON.stringify(after)}`);
}

onBothEngines(
  'settings are declared: planned, changed with a note in the log, and kept alike elsewhere',
  async (t, engine) => {
    const [env, other] = [await preparedSettings(t, engine), await preparedSettings(t, engine)];
    const write = writer(env);
    const said = '\n  SIGNET_SIGN_UP: off\n  SIGNET_LANGUAGES: de,en\n  SIGNET_LIMIT_PENDING_CLIENTS: 7';
    const planned = await succeed([...write(said), '--dry-run'], env);
    assert.deepEqual(changesOf(planned), [
      'change SIGNET_SIGN_UP: null -> off',
      'change SIGNET_LANGUAGES: null -> de,en',
      'change SIGNET_LIMIT_PENDING_CLIENTS: null -> 7',
    ]);
    assert.deepEqual([await changedSettings(env), await audited(env)], [{}, []], 'a plan changes nothing');

    await succeed(write(said), env);
    const wanted = { SIGNET_SIGN_UP: 'off', SIGNET_LANGUAGES: 'de,en', SIGNET_LIMIT_PENDING_CLIENTS: '7' };
    assert.deepEqual(await changedSettings(env), wanted);
    assert.deepEqual((await audited(env)).sort(), [
      'cli SIGNET_LANGUAGES {"value":"de,en"}',
      'cli SIGNET_LIMIT_PENDING_CLIENTS {"value":"7"}',
      'cli SIGNET_SIGN_UP {"value":"off"}',
    ]);
    assert.deepEqual(changesOf(await succeed(write(said), env)), [], 'applied again, there is nothing to change');
    assert.equal((await audited(env)).length, 3);

    const { settings: exported } = await succeed(['config', 'export'], env);
    assert.deepEqual(exported, { ...wanted, SIGNET_LIMIT_PENDING_CLIENTS: 7 });
    await succeed(writer(other)(` ${JSON.stringify(exported)}`), other);
    assert.deepEqual((await succeed(['config', 'export'], other)).settings, exported);

    await succeed(['config', 'set', 'SIGNET_REVIEW_MAILS', 'off'], env);
    const changed = await succeed([...write(' { SIGNET_SIGN_UP: on, SIGNET_LANGUAGES: }'), '--prune'], env);
    assert.deepEqual(changesOf(changed), [
      'change SIGNET_SIGN_UP: off -> on',
      'change SIGNET_LANGUAGES: de,en -> null',
    ]);
    const left = { SIGNET_SIGN_UP: 'on', SIGNET_REVIEW_MAILS: 'off', SIGNET_LIMIT_PENDING_CLIENTS: '7' };
    assert.deepEqual(await changedSettings(env), left, 'what a file does not say stays, and null is the default');
    await succeed([...write(' {}'), '--prune'], env);
    await succeed([...write('\ngroups: { staff: { name: Staff } }'), '--prune'], env);
    assert.deepEqual(await changedSettings(env), left, 'also when a file says nothing of settings any more');
  },
);

onBothEngines('a setting that no file may change, or that would be none, is refused at its line', async (t, engine) => {
  const env = await preparedSettings(t, engine);
  const write = writer(env);
  const wrong: [text: string, problem: RegExp][] = [
    [
      'SIGNET_SMTP_URL: smtp://ada:hunter2-of-the-mail@mail.example.com',
      /SIGNET_SMTP_URL: Cannot be changed while the server runs, .* environment of the server/,
    ],
    ['SIGNET_MASTER_KEY: c2VjcmV0LW9mLXRoZS1zdG9yZS1odW50ZXIyLTEyMzQ=', /SIGNET_MASTER_KEY: Cannot be changed/],
    ['SIGNET_ADMIN_SECOND_FACTOR: off', /SIGNET_ADMIN_SECOND_FACTOR: Cannot be changed/],
    ['SIGNET_SELF_APPROVAL: on', /SIGNET_SELF_APPROVAL: Cannot be changed/],
    ['SIGNET_GOOGLE_CLIENT_SECRET: hunter2', /SIGNET_GOOGLE_CLIENT_SECRET: Cannot be changed/],
    ['sign_up: off', /settings\/sign_up: Is not known\. There are: SIGNET_SIGN_UP/],
    ['SIGNET_SIGN_UP: maybe', /settings\.yaml:2 settings\/SIGNET_SIGN_UP: Must be one of: on, off/],
    ['SIGNET_SIGN_UP: true', /SIGNET_SIGN_UP: Must be one of: on, off/],
    ['SIGNET_LANGUAGES: "en,xx"', /SIGNET_LANGUAGES must be languages of these/],
    ['SIGNET_SECOND_FACTOR: 2027-02-30', /SIGNET_SECOND_FACTOR: /],
    ['SIGNET_LIMIT_PENDING_CLIENTS: 0', /SIGNET_LIMIT_PENDING_CLIENTS: Must be >= 1/],
    ['SIGNET_LIMIT_PENDING_CLIENTS: "7"', /SIGNET_LIMIT_PENDING_CLIENTS: Must be integer or null/],
    ['SIGNET_SECURITY_CONTACT: "http://example.com/"', /SIGNET_SECURITY_CONTACT: /],
    ['secret: { env: NOTHING }', /secret/],
  ];
  for (const [text, problem] of wrong) {
    const said = await refused(write(` { SIGNET_REVIEW_MAILS: off, ${text} }`), env, problem);
    assert.doesNotMatch(said, /hunter2|c2VjcmV0/, 'no secret is repeated');
  }
  const twice = [...write(' { SIGNET_SIGN_UP: off }'), '-f', write(' {}', 'second.yaml').at(-1)!];
  await refused(twice, env, /settings: Is declared in/);
  assert.deepEqual([await changedSettings(env), await audited(env)], [{}, []], 'nothing of any of them was done');
});

onBothEngines('what the environment says is refused in a file, and in no export', async (t, engine) => {
  const env = await preparedSettings(t, engine);
  await succeed(['config', 'set', 'SIGNET_SIGN_UP', 'off'], env);
  await succeed(['config', 'set', 'SIGNET_REVIEW_MAILS', 'off'], env);
  const fixed = { ...env, SIGNET_SIGN_UP: 'on', SIGNET_SMTP_URL: 'smtp://ada:hunter2@mail.example.com' };
  const sentence = /settings\/SIGNET_SIGN_UP: Is set in the environment of this server, which wins\. Remove it there/;
  for (const value of ['off', 'on', 'null'])
    await refused(writer(env)(` { SIGNET_SIGN_UP: ${value}, SIGNET_LANGUAGES: "de" }`), fixed, sentence);
  assert.deepEqual(await changedSettings(fixed), { SIGNET_REVIEW_MAILS: 'off' });
  const { code, stdout } = await runCommand(['config', 'export'], { env: fixed });
  assert.equal(code, 0);
  assert.match(stdout, /^settings:\n {2}SIGNET_REVIEW_MAILS: .?off.?$/m);
  assert.doesNotMatch(stdout, /SIGNET_SIGN_UP|hunter2/);
  const copy = join(String(env.SIGNET_DATA_DIR), 'declared', 'copy.yaml');
  writeFileSync(copy, stdout);
  assert.deepEqual(changesOf(await succeed(['apply', '-f', copy], fixed)), [], 'applied, it changes nothing');
});

onBothEngines(
  'each setting that can be changed while the server runs can be declared, and none is a secret',
  async (t, engine) => {
    const env = await preparedSettings(t, engine);
    const all = await listedSettings(env);
    const values: Json = { SIGNET_SECOND_FACTOR: '2099-01-01', SIGNET_SECURITY_CONTACT: 'mailto:a@example.com' };
    const said = changeableSettings.map(({ name, control }): [string, unknown] => {
      assert.equal(all.find((one) => one.name === name)?.is_secret, false, name);
      return [
        name,
        values[name] ?? (control.kind === 'switch' ? 'off' : control.kind === 'number' ? control.min : 'fr,en'),
      ];
    });
    await succeed(writer(env)(` ${JSON.stringify(Object.fromEntries(said))}`), env);
    assert.deepEqual((await succeed(['config', 'export'], env)).settings, Object.fromEntries(said));
  },
);
