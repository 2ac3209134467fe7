import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Random, seededRandom } from '../../../test/support/seeded-random.ts';
import { createVerifier, TokenError } from '../src/index.ts';
import { newKey, startIssuer } from './fake-issuer.ts';

const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', ...'.=+/ ,"\n\0é😀'];
const base64url = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A header or payload with one member removed, replaced or added. */
function mutatedJson(random: Random, part: string): string {
  const value = JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  const odd = [
    null,
    0,
    -1,
    2 ** 53,
    1e308,
    true,
    '',
    'x',
    'cl_app',
    'none',
    'RS256',
    'at+jwt',
    [],
    {},
    ['cl_app'],
    { a: 1 },
  ];
  const names = [
    ...Object.keys(value),
    'alg',
    'typ',
    'kid',
    'crit',
    'jwk',
    'jku',
    'b64',
    'nbf',
    '__proto__',
    'constructor',
  ];
  const name = random.pick(names);
  if (random.percent(30)) delete value[name];
  else
    Object.defineProperty(value, name, {
      value: random.pick(odd),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  const text = JSON.stringify(value);
  const spellings = [
    text,
    text,
    text,
    ` ${text}`,
    `\ufeff${text}`,
    text.slice(0, -1),
    text.replace('{', '{"alg":"none",'),
    text.repeat(2),
  ];
  return base64url(random.pick(spellings));
}

function mutated(random: Random, token: string, other: string): string {
  const parts = token.split('.');
  const at = random.below(token.length);
  const where = random.below(3);
  switch (random.below(8)) {
    case 0:
      return token.slice(0, at) + random.pick(alphabet) + token.slice(at + 1);
    case 1:
      return token.slice(0, at) + random.pick(alphabet) + token.slice(at);
    case 2:
      return token.slice(0, at) + token.slice(at + 1 + random.below(20));
    case 3:
      return parts.with(where, other.split('.')[where]!).join('.');
    case 4:
      return parts.toSpliced(where, random.below(2), random.pick(['', 'e30', parts[where]!])).join('.');
    case 5:
      return parts.with(2, random.pick(['', 'AA', 'A'.repeat(86), parts[1]!])).join('.');
    default:
      return parts.with(where % 2, mutatedJson(random, parts[where % 2]!)).join('.');
  }
}

test('no change of a token is accepted, and each is refused in an orderly way', async (t) => {
  const random = seededRandom(t);
  const [ed, rsa] = [await newKey('ed'), await newKey('rsa', 'RS256')];
  const issuer = await startIssuer(t, { keys: [ed, rsa] });
  const verify = createVerifier({ ...issuer.options, audience: ['cl_app', 'cl_other'] });
  const bases = [
    await issuer.sign({ key: ed }),
    await issuer.sign({ key: rsa }),
    await issuer.sign({ key: ed, claims: { aud: 'cl_other', scope: 'admin' } }),
    await issuer.sign({ key: ed, header: { typ: 'JWT' } }),
  ];
  const genuine = new Set(bases);
  const outcomes = new Map<string, number>();
  for (let round = 0; round < 4000; round += 1) {
    const header = mutated(random, random.pick(bases), random.pick(bases));
    if (genuine.has(header)) continue;
    const viaHeader = random.percent(30);
    const error = await (viaHeader ? verify.authorization(`Bearer ${header}`) : verify(header)).then(
      () => assert.fail(`accepted: ${header}`),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof TokenError, `${header}: ${error}`);
    assert.ok(error.status === 401 || (viaHeader && error.status === 400), `${header}: ${error.status}`);
    assert.match(error.wwwAuthenticate ?? '', /^Bearer [\x20-\x7e]+$/);
    outcomes.set(error.message, (outcomes.get(error.message) ?? 0) + 1);
  }
  for (const [message, count] of outcomes) t.diagnostic(`${count} × ${message}`);
  assert.ok(outcomes.size >= 5, 'the changes reach every stage');
  assert.ok(issuer.asked.keys <= 2);
  await verify(bases[0]!);
});
