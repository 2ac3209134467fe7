import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostResolver, inHosts } from './resolve-host.ts';

test('a name server that never answers is asked once for each name', async () => {
  const asked: string[] = [];
  const resolve = hostResolver({ clock: () => 0 }, (hostname) => {
    asked.push(hostname);
    return new Promise(() => {});
  });
  for (let round = 0; round < 5; round += 1) void resolve('silent.example');
  void resolve('other.example');
  assert.deepEqual(asked, ['silent.example', 'other.example']);
});

test('a name that did not resolve is not asked for again for half a minute', async () => {
  let at = 0;
  let asked = 0;
  const resolve = hostResolver({ clock: () => at }, () => {
    asked += 1;
    return Promise.reject(new Error('no such name'));
  });
  await assert.rejects(resolve('gone.example'));
  await assert.rejects(resolve('gone.example'));
  at += 29_000;
  await assert.rejects(resolve('gone.example'));
  assert.equal(asked, 1);
  at += 1000;
  await assert.rejects(resolve('gone.example'));
  assert.equal(asked, 2);
});

test('a hosts file', () => {
  const hosts = '# ours\n10.0.0.7 billing Billing.internal # and so on\n::1 billing\nnonsense billing\n';
  assert.deepEqual(
    inHosts(hosts, 'billing').map(({ address }) => address),
    ['10.0.0.7', '::1'],
  );
  assert.equal(inHosts(hosts, 'billing.internal').length, 1);
  assert.deepEqual(inHosts(hosts, 'bill'), []);
});
