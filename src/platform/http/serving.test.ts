import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readableForwardedFor } from './serving.ts';

const readings: Record<string, string | undefined> = {
  '192.0.2.1': '192.0.2.1',
  ' 192.0.2.1 , 198.51.100.2': '192.0.2.1, 198.51.100.2',
  '192.0.2.1:4711': '192.0.2.1',
  '[2001:db8::1]:4711': '2001:db8::1',
  '[2001:db8::1]': '2001:db8::1',
  '2001:db8::1': '2001:db8::1',
  '::ffff:192.0.2.1': '::ffff:192.0.2.1',
  'fe80::1%eth0': 'fe80::1',
  '[fe80::1%eth0]:1': 'fe80::1',
  'unknown, 192.0.2.1:1': '192.0.2.1',
  '192.0.2.1, unknown': undefined,
  '192.0.2.1,': undefined,
  '': undefined,
  unknown: undefined,
  _hidden: undefined,
  '192.0.2.1:': undefined,
  '192.0.2.1:port': undefined,
  '192.0.2.1:123456': undefined,
  '192.0.2.999:1': undefined,
  '192.0.2.01': undefined,
  '[192.0.2.1]:1': undefined,
  '[2001:db8::1': undefined,
  '[2001:db8::1]4711': undefined,
  'for=192.0.2.1': undefined,
  '192.0.2.1/24': undefined,
  [`fe80::1%${'a'.repeat(5000)}`]: undefined,
  [`192.0.2.1, ${'x'.repeat(5000)}`]: undefined,
};

for (const [header, readable] of Object.entries(readings)) {
  test(`X-Forwarded-For: ${header.slice(0, 40)} is read as ${readable}`, () => {
    assert.equal(readableForwardedFor(header), readable);
  });
}
