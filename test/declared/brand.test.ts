import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { pngOf } from '../support/pictures.ts';
import type { Settings } from '../support/server-process.ts';

type Json = Record<string, unknown>;

function writer(settings: Settings) {
  const folder = join(String(settings.SIGNET_DATA_DIR), 'declared');
  mkdirSync(folder, { recursive: true });
  return (text: string, name = 'brand.yaml') => {
    const path = join(folder, name);
    writeFileSync(path, `apiVersion: signet/v1\n${text}`);
    return path;
  };
}

const fieldsOf = (answer: Json) =>
  (answer.changes as { action: string; kind: string; fields: { field: string }[] }[]).map(
    ({ action, kind, fields }) => `${action} ${kind}: ${fields.map(({ field }) => field).join(' ')}`,
  );

const file = (path: string) => ['apply', '-f', path];

onBothEngines('the brand is declared, so that two servers look alike', async (t, engine) => {
  const [env, other] = [await preparedSettings(t, engine), await preparedSettings(t, engine)];
  const logo = pngOf({ width: 200, height: 40, text: 'drawn by Ada' }).toString('base64');
  const said = 'brand:\n  name: Acme\n  button: FFD400\n  words: { sign_in: { de: Konto, en: " Use it " } }\n';
  const path = writer(env)(`${said}  pictures: { logo: ${logo} }\n`);

  const made = await succeed(file(path), env);
  assert.deepEqual(fieldsOf(made), ['change brand: name button words pictures']);
  const { version, name, button, words, pictures } = await succeed(['brand', 'show'], env);
  assert.deepEqual([version, name, button, words], [1, 'Acme', '#ffd400', { sign_in: { de: 'Konto', en: 'Use it' } }]);
  assert.equal((pictures as Record<string, Json>).logo?.width, 200);
  assert.deepEqual(fieldsOf(await succeed(file(path), env)), [], 'applied again, there is nothing to change');
  const plan = await runCommand([...file(path), '--dry-run'], { env: other });
  assert.match(plan.stdout, /pictures: \{\} -> \{"logo":"[0-9a-f]{32}"\}/, 'a plan shows no bytes');

  const exported = await runCommand(['config', 'export'], { env });
  const copy = writer(other)(exported.stdout.replace(/^.*apiVersion: [^\n]*\n/s, ''));
  await succeed(file(copy), other);
  const [one, two] = [await succeed(['config', 'export'], env), await succeed(['config', 'export'], other)];
  assert.deepEqual(two.brand, one.brand);
  assert.deepEqual(Object.keys(one.brand as Json).sort(), ['button', 'name', 'pictures', 'words']);

  const shorter = writer(env)('brand: { name: Acme }\n');
  assert.deepEqual(fieldsOf(await succeed(file(shorter), env)), ['change brand: button words']);
  assert.equal(((await succeed(['brand', 'show'], env)).pictures as Json).logo !== undefined, true, 'left alone');
  await succeed([...file(writer(env)('groups: {}\n')), '--prune'], env);
  assert.equal((await succeed(['brand', 'show'], env)).name, 'Acme', 'what a file no longer has stays');
  assert.deepEqual(fieldsOf(await succeed(file(writer(env)('brand: { pictures: {} }\n')), env)), [
    'change brand: name pictures',
  ]);
  assert.equal((await succeed(['config', 'export'], env)).brand, undefined, 'as the settings have it');

  const wrong: [text: string, problem: RegExp][] = [
    ['button: yellow', /brand\/button/],
    ['font: comic', /brand\/font/],
    ['colour: "#000000"', /brand\/colour: Is not known/],
    ['words: { nowhere: { en: x } }', /brand\/words\/nowhere/],
    ['words: { sign_in: { xx: x } }', /brand\/words\/sign_in\/xx/],
    ['pictures: { logo: bm90IGEgcGljdHVyZQ== }', /brand\/pictures\/logo/],
    ['pictures: { banner: x }', /brand\/pictures\/banner: Is not known/],
  ];
  for (const [text, problem] of wrong) await refused(file(writer(env)(`brand: { ${text} }\n`)), env, problem);
  await refused(file(writer(env)('brand:\n  button: #ffd400\n')), env, /brand\/button: .*quotes/);
  const twice = [...file(writer(env)(said)), '-f', writer(env)(said, 'second.yaml')];
  await refused(twice, env, /brand: Is declared in/);
});
