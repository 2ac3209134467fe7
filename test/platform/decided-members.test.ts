import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startSignet } from '../support/signet.ts';

const docs = join(import.meta.dirname, '../../docs');
const decided = readFileSync(join(docs, 'spec/decisions.md'), 'utf8');
const ahead = readFileSync(join(docs, 'decisions/README.md'), 'utf8');

/** Of a record as decisions §10 writes it, without those of what is inside it. */
const outerMembers = (record: string) => {
  let bare = record;
  while (/[{[]/.test(bare)) bare = bare.replaceAll(/:?[{[][^{}[\]]*[}\]]/g, '');
  return bare.split(',').map((name) => name.trim());
};
const membersOf = (pattern: RegExp) => outerMembers(pattern.exec(decided)?.[1] ?? '');
const addedTo = (subject: string) => {
  const [, cells = ''] = ahead.split(`| the members of ${subject} |`);
  const [first = ''] = cells.split('\n');
  return [...first.split('([')[0]!.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name);
};

test('an account and a client have the members of decisions §10, and those that the page of decisions names beside them', async (t) => {
  const signet = await startSignet(t);
  const owner = await signet.signedInUser();
  await signet.registerClient({ owner });
  const { json: account } = await owner.browser.get('/v1/me');
  const { json } = await owner.browser.get('/v1/oauth/clients');
  const [client] = json!.clients as object[];
  const sorted = (names: Iterable<unknown>) => [...names].map(String).sort();
  const ofAccount = membersOf(/`GET \/v1\/me`: `\{(.*?)\}`/);
  assert.ok(ofAccount.includes('two_factor_enabled') && ofAccount.includes('session'), 'it reads the decisions');
  assert.deepEqual(sorted(Object.keys(account!)), sorted([...ofAccount, ...addedTo('`/v1/me`')]));
  const ofClient = membersOf(/`GET \/v1\/oauth\/clients`: `\{clients:\[\{(.*?)\}\]\}`/);
  assert.deepEqual(sorted(Object.keys(client!)), sorted([...ofClient, ...addedTo('a client')]));
});
