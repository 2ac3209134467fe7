import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addressKey, addressQuery, isLoopback, isPublicAddress, isSubnet, networkKey } from './ip-address.ts';

test('an IPv4 address counts as itself, also when a dual-stack socket reports it as IPv6', () => {
  assert.equal(addressKey('192.0.2.1'), '192.0.2.1');
  assert.equal(addressKey('::ffff:192.0.2.1'), '192.0.2.1');
  assert.equal(addressKey('::FFFF:c000:0201'), '192.0.2.1');
  assert.notEqual(addressKey('192.0.2.1'), addressKey('192.0.2.2'));
});

test('all of a /64 counts as one, however it is written', () => {
  for (const address of ['2001:db8:1:2::', '2001:DB8:1:2:ffff:0:0:1', '2001:0db8:0001:0002:1:2:192.0.2.1']) {
    assert.equal(addressKey(address), '2001:db8:1:2::/64');
  }
  assert.notEqual(addressKey('2001:db8:1:3::1'), addressKey('2001:db8:1:2::1'));
  assert.equal(addressKey('::1'), '0:0:0:0::/64');
  assert.equal(addressKey('fe80::1%eth0'), addressKey('fe80::2'));
});

test('any IPv6 address shares its count with all others of its /64, and with none of another', () => {
  const groups = (count: number) =>
    fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: count, maxLength: count });
  const join = (...parts: number[][]) =>
    parts
      .flat()
      .map((group) => group.toString(16))
      .join(':');
  fc.assert(
    fc.property(groups(4), groups(4), groups(4), groups(4), (network, other, host, neighbour) => {
      fc.pre(network.some((group) => group !== 0) && other.some((group) => group !== 0));
      assert.equal(addressKey(join(network, host)), addressKey(join(network, neighbour)));
      assert.equal(addressKey(join(network, host)) === addressKey(join(other, host)), join(network) === join(other));
    }),
  );
});

test('all of a /48 is one network, and an IPv4 address its own', () => {
  for (const address of ['2001:db8:1:2::1', '2001:DB8:1:ffff::', '2001:0db8:0001::192.0.2.1']) {
    assert.equal(networkKey(address), '2001:db8:1::/48');
  }
  assert.notEqual(networkKey('2001:db8:2::1'), networkKey('2001:db8:1::1'));
  for (const address of ['192.0.2.1', 'unknown', '']) assert.equal(networkKey(address), addressKey(address));
});

test('what is no address counts as itself', () => {
  assert.equal(addressKey('unknown'), 'unknown');
  assert.equal(addressKey(''), '');
});

test('loopback is localhost, 127.0.0.0/8 and ::1', () => {
  for (const host of ['localhost', '127.0.0.1', '127.255.255.254', '::1', '[::1]']) assert.ok(isLoopback(host), host);
  for (const host of ['localhost.example.com', '127.0.0.1.example.com', '127.1', '::', '10.0.0.1', '']) {
    assert.ok(!isLoopback(host), host);
  }
});

test('a public IPv4 address stays public in IPv6 spelling, and an internal one internal', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      assert.equal(isPublicAddress(`::ffff:${address}`), isPublicAddress(address));
      assert.ok(!isPublicAddress(`::${address}`), 'IPv4-compatible (RFC 4291 §2.5.5.1)');
      assert.ok(!isPublicAddress(`64:ff9b::${address}`), 'NAT64 (RFC 6052)');
    }),
  );
});

test('a subnet is an address with or without a prefix length', () => {
  for (const text of ['10.0.0.0/8', '10.0.0.1', '::/0', 'fd00::/8', '::1']) assert.ok(isSubnet(text), text);
  for (const text of ['10.0.0.0/33', '::/129', '10/8', '0x7f.1/8', '10.0.0.0/', '10.0.0.0/8/8', 'host', '']) {
    assert.ok(!isSubnet(text), text);
  }
});

test('an address is looked for in each of its spellings, and first numbers as all that begin with them', () => {
  assert.deepEqual(addressQuery(' 192.0.2.1 '), { spellings: ['192.0.2.1', '::ffff:192.0.2.1'] });
  assert.deepEqual(addressQuery('2001:DB8:0:0::1'), { spellings: ['2001:db8::1', '2001:db8:0:0::1'] });
  assert.deepEqual(addressQuery('192.0.2'), { beginnings: ['192.0.2.', '::ffff:192.0.2.'] });
  assert.deepEqual(addressQuery('192.0.2.'), addressQuery('192.0.2'));
  assert.deepEqual(addressQuery('2001:db8'), { beginnings: ['2001:db8:'] });
  assert.deepEqual(addressQuery('2001:db8::'), { beginnings: ['2001:db8::'] });
  for (const text of [
    '',
    '192.0.2.256',
    '192..',
    '.192',
    ':',
    '2001:db8:::',
    '2001::db8:',
    '192.0.2.0/24',
    'here',
    '%',
  ])
    assert.equal(addressQuery(text), undefined, text);
});
