import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { aClient } from '../../../test/support/a-client.ts';
import type { OutboundAnswer, OutboundRequest } from '../../platform/http/outbound/outbound.ts';
import { findClientKey } from './find-client-key.ts';
import { openKeySets } from './key-sets.ts';

const jwkOf = (kid: string | undefined, more: object = {}) => ({
  ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
  ...(kid && { kid }),
  ...more,
});
const answer = (body: unknown, status = 200): OutboundAnswer => ({
  status,
  headers: {},
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  isWhole: true,
});

/** A client whose address gives what the test says, and counts how often it was asked. */
function published(first: () => OutboundAnswer | Promise<OutboundAnswer>) {
  const world = { at: 1_800_000_000, asked: [] as OutboundRequest[], give: first };
  const outbound = {
    send: async (request: OutboundRequest) => {
      world.asked.push(request);
      return world.give();
    },
  };
  const keySets = openKeySets({ outbound, clock: () => world.at * 1000 });
  const client = aClient({ jwks_uri: 'https://rp.test/jwks.json' });
  const find = async (kid: string | undefined, of = client) => {
    const found = await findClientKey({ keySets }, of, { algorithm: 'EdDSA', header: kid ? { kid } : {} });
    return 'key' in found ? 'found' : 'problem' in found ? found.problem : found.code;
  };
  return { world, client, find };
}

test('published keys are asked for once in five minutes, and by those who come together once', async () => {
  const { world, find } = published(() => answer({ keys: [jwkOf('one'), jwkOf('two')] }));
  assert.deepEqual(await Promise.all(Array.from({ length: 20 }, () => find('one'))), Array(20).fill('found'));
  world.at += 299;
  assert.equal(await find('two'), 'found');
  assert.equal(world.asked.length, 1);
  world.give = () => answer({ keys: [jwkOf('two')] });
  world.at += 1;
  assert.equal(await find('one'), 'key_unknown', 'a key that was withdrawn');
  assert.equal(world.asked.length, 2);
});

test('a new key is found at once, while random key ids of strangers ask the address twice a minute at most', async () => {
  const { world, find } = published(() => answer({ keys: [jwkOf('old')] }));
  assert.equal(await find('old'), 'found');
  world.give = () => answer({ keys: [jwkOf('old'), jwkOf('new')] });
  world.at += 30;
  assert.equal(await find('new'), 'found');
  assert.equal(world.asked.length, 2);
  for (let second = 0; second < 60; second += 1) {
    world.at += 1;
    assert.equal(await find(`random ${second}`), 'key_unknown');
  }
  assert.equal(world.asked.length, 4);
});

test('while an address fails the known keys go on for a day, and its owner hears why', async () => {
  const { world, find } = published(() => answer({ keys: [jwkOf('one')] }));
  assert.equal(await find('one'), 'found');
  world.give = () => answer('', 404);
  world.at += 300;
  assert.equal(await find('one'), 'found');
  assert.equal(await find('two'), 'It responded with 404.');
  const never = Promise.withResolvers<OutboundAnswer>();
  world.give = () => never.promise;
  world.at += 86_099;
  assert.equal(await find('one'), 'found', 'nobody who needs no new key waits for it');
  world.at += 1;
  const waiting = find('one');
  never.resolve(answer('', 500));
  assert.equal(await waiting, 'It responded with 500.');
  assert.equal(world.asked.length, 3);
});

test('what is no key set is a problem, and keys for something else are passed over', async () => {
  const { world, find } = published(() => answer('{"keys":'));
  const withPrivateHalf = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const hostile = [null, 7, [], {}, { kty: 'oct', k: 'eA' }, jwkOf('enc', { use: 'enc' }), withPrivateHalf];
  for (const [given, said] of [
    [answer('{"keys":'), 'It responded with no JSON.'],
    [answer('null'), /^It responded with no JSON Web Key Set/],
    [answer({ keys: Array(51).fill({}) }), /more than 50 keys/],
    [answer({ keys: [...hostile] }), 'key_unknown'],
    [answer(' '.repeat(70_000)), 'It responded with more than 64 KB.'],
    [{ ...answer('{}'), isWhole: false }, /did not arrive/],
    [answer('', 302), /redirects/],
    [answer({ keys: [...hostile, jwkOf(undefined, { alg: 'EdDSA' })] }), 'found'],
  ] as const) {
    world.give = () => given;
    world.at += 300;
    const found = await find(undefined);
    if (said instanceof RegExp) assert.match(found, said);
    else assert.equal(found, said);
  }
});

test('of a client that was not reviewed no address is asked, and of 2100 clients 2000 are remembered', async () => {
  const { world, find, client } = published(() => answer({ keys: [jwkOf('one')] }));
  assert.equal(await find('one', { ...client, status: 'pending_review' }), 'client_not_approved');
  assert.equal(await find('one', { ...client, status: 'rejected' }), 'client_not_approved');
  assert.equal(world.asked.length, 0);
  const clients = Array.from({ length: 2100 }, (_, index) => ({ ...client, client_id: `cl_${index}` as 'cl_1' }));
  for (const one of clients) await find('one', one);
  await find('one', clients[2099]);
  assert.equal(world.asked.length, 2100);
  await find('one', clients[0]);
  assert.equal(world.asked.length, 2101);
  await find('one', { ...clients[0]!, jwks_uri: 'https://rp.test/other' });
  assert.equal(world.asked.at(-1)!.url, 'https://rp.test/other', 'the keys of another address are not its own');
});

test('addresses that do not answer are asked 32 at a time', async () => {
  const silent = Promise.withResolvers<OutboundAnswer>();
  const { world, find, client } = published(() => silent.promise);
  const waiting = Array.from({ length: 40 }, (_, index) =>
    find('one', { ...client, client_id: `cl_${index}` as 'cl_1' }),
  );
  assert.match(await waiting[39]!, /^Too many/);
  assert.equal(world.asked.length, 32);
  silent.resolve(answer({ keys: [jwkOf('one')] }));
  assert.equal(await waiting[0], 'found');
  assert.equal(await find('one', { ...client, client_id: 'cl_39' as 'cl_1' }), 'found');
});

test('registered keys: by kid, or the only one that fits', async () => {
  const { world, find } = published(() => answer(''));
  const [one, two] = [jwkOf('one'), jwkOf('two', { alg: 'Ed25519' })];
  const of = (...keys: object[]) => aClient({ jwks: { keys: keys as { kty: string }[] } });
  assert.equal(await find('two', of(one, two)), 'found');
  assert.equal(await find('three', of(one, two)), 'key_unknown');
  assert.equal(await find(undefined, of(one, two)), 'key_unknown');
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
  assert.equal(await find(undefined, of(one, { ...rsa, kid: 'rsa' })), 'found');
  assert.equal(await find('rsa', of(one, { ...rsa, kid: 'rsa' })), 'key_unknown', 'of another algorithm');
  assert.equal(await find('one', aClient()), 'key_unknown', 'of none');
  assert.equal(world.asked.length, 0);
});
