import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { refused } from '../../../test/support/refused-setting.ts';
import { readConfig, settings } from '../../app/config.ts';
import { type MessageKey, translatePlain } from '../i18n/translate.ts';
import { limitSettings } from './limit-settings.ts';

test('every limit is a whole number within its bounds, and nothing else', () => {
  for (const { key, name, default: fallback, min, max } of limitSettings) {
    assert.ok(min <= fallback && fallback <= max, name);
    assert.equal(readConfig({ [name]: '' }).limits[key], fallback, name);
    for (const value of [min, max]) assert.equal(readConfig({ [name]: String(value) }).limits[key], value, name);
    const sentence = `${name} must be a whole number from ${min} to ${max}.`;
    for (const value of [min - 1, max + 1, '-1', '1.5', '1e1', '0x5', 'off', ' ', '5 ']) {
      assert.equal(refused({ [name]: String(value) }), sentence, String(value));
    }
  }
});

/** Cells of the rows whose first one names settings. */
const documented = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `SIGNET_'))
  .map((row) => row.split('|').map((cell) => cell.trim()));

test('DO-01: docs/configuration.md has every setting, each once', () => {
  const names = documented.flatMap(([, first = '']) => first.match(/SIGNET_\w+/g) ?? []);
  assert.ok(settings.length > 40 && names.length >= settings.length);
  for (const name of settings) assert.equal(names.filter((one) => one === name).length, 1, name);
});

test('DO-01: docs/configuration.md says of every limit its default, bounds and description', () => {
  for (const { name, default: fallback, min, max } of limitSettings) {
    const description = translatePlain('en', { key: `admin.setting.${name}` as MessageKey });
    const row = documented.find(([, first]) => first === `\`${name}\``);
    assert.deepEqual(row?.slice(2, 5), [`\`${fallback}\``, `${min} to ${max}`, description], name);
  }
});
