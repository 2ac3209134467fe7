import assert from 'node:assert/strict';
import { aUser, newDirectory } from '../support/scim.ts';
import { type Random, seededRandom } from '../support/seeded-random.ts';
import { testSignet } from '../support/signet.ts';

const words = [
  ...[
    'userName',
    'emails',
    'members',
    'name',
    'value',
    'type',
    'active',
    'displayName',
    'externalId',
    'id',
    'meta',
    '$ref',
  ],
  ...[
    'eq',
    'ne',
    'and',
    'or',
    'not',
    'pr',
    'sw',
    '(',
    ')',
    '[',
    ']',
    '.',
    ':',
    '"',
    '\\',
    '"x"',
    '"work"',
    '"\\u0041"',
    'true',
    'null',
  ],
  ...['-1', '1e9', ' ', '%', '\u202e', 'é', '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'],
  ...[
    'urn:ietf:params:scim:schemas:core:2.0:User:',
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:',
    'urn:',
    '"\ud83d\ude00"',
  ],
];

const someText = (random: Random): string =>
  Array.from({ length: random.below(9) }, () => random.pick(words)).join(random.percent(70) ? ' ' : '');

function someValue(random: Random, depth = 0): unknown {
  const kind = random.below(depth > 3 ? 6 : 9);
  if (kind === 0) return null;
  if (kind === 1) return random.percent(50);
  if (kind === 2) return random.below(100) - 50;
  if (kind <= 5) return someText(random);
  if (kind === 6) return Array.from({ length: random.below(4) }, () => someValue(random, depth + 1));
  return Object.fromEntries(
    Array.from({ length: random.below(5) }, () => [random.pick(words), someValue(random, depth + 1)]),
  );
}

testSignet('SC-11: whatever is sent, no answer is a failure of ours', async ({ signet, t }) => {
  const random = seededRandom(t);
  const directory = await newDirectory(signet);
  const user = await directory.ok(201, 'POST', '/Users', aUser());
  const group = await directory.ok(201, 'POST', '/Groups', { displayName: 'Team', members: [{ value: user.id }] });
  const operation = () => ({
    op: random.pick(['add', 'remove', 'replace', 'Add', 'x', 7]),
    ...(random.percent(80) && { path: someText(random) }),
    ...(random.percent(90) && { value: someValue(random) }),
  });
  for (let round = 0; round < 300; round += 1) {
    const resource = random.pick([`/Users/${user.id}`, `/Groups/${group.id}`]);
    const query = new URLSearchParams({
      filter: someText(random),
      [random.pick(['attributes', 'excludedAttributes', 'startIndex', 'count'])]: someText(random),
    });
    const asked: [string, string, unknown?][] = [
      ['GET', `${random.pick(['/Users', '/Groups', resource])}?${query}`],
      ['PATCH', resource, { Operations: Array.from({ length: 1 + random.below(3) }, operation) }],
      ['POST', random.pick(['/Users', '/Groups', '/.search', '/Users/.search']), someValue(random)],
      ['PUT', resource, someValue(random)],
    ];
    for (const one of asked) {
      const { status, text } = await directory.send(...one);
      assert.ok(status < 500, `${JSON.stringify(one)}: ${status} ${text}`);
      if (status >= 400) assert.match(text, /^\{"schemas":\["urn:ietf:params:scim:api:messages:2.0:Error"\]/, one[1]);
    }
  }
});
