import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RecentCode } from '../../oauth/statements.ts';
import { inferFailures } from './inferred-failures.ts';

const start = 1_800_000_000;
const never = 0;

/** Exchanged in the second in which it was issued, unless the changes say otherwise. */
const code = (seconds: number, changes: Partial<RecentCode> = {}): RecentCode => ({
  user_id: 'usr_1',
  session_id: 'ses_1',
  scope: 'openid email',
  redirect_uri: 'https://rp.test/cb',
  has_nonce: true,
  created_at: start + seconds,
  code_expires_at: start + seconds + 60,
  redeemed_at: start + seconds,
  refresh_seq: 1,
  revoked_at: null,
  revoked_reason: null,
  ...changes,
});
const at = (seconds: readonly number[], changes?: Partial<RecentCode>) => seconds.map((one) => code(one, changes));
const lost = (seconds: readonly number[], changes: Partial<RecentCode> = {}) =>
  at(seconds, { redeemed_at: null, refresh_seq: 0, ...changes });
const inferred = (codes: readonly RecentCode[], { now = start + 3000, refusedAt = never } = {}) =>
  inferFailures(codes, now, refusedAt).map((one) => [one.code, one.codes.length, one.at - start, one.last_at - start]);

const healthy: Record<string, RecentCode[]> = {
  'a user who signs in twice': at([0, 10]),
  'many users who sign in twice': [1, 2, 3, 4].flatMap((user) =>
    at([user * 60, user * 60 + 9], { user_id: `usr_${user}` }),
  ),
  'a user who signs in now and then': at([0, 31, 62, 93, 124]),
  'a browser that restores its tabs': at([0, 0, 0, 1, 1, 2, 3, 3, 5, 6]),
  'an app that asks for more scope with each step': ['openid', 'openid email', 'openid profile'].flatMap(
    (scope, place) => at([place * 10], { scope }),
  ),
  'one user in three browsers': ['a', 'b', 'c', 'd'].map((session_id, place) => code(place * 10, { session_id })),
  'three apps of one client': ['a', 'b', 'c', 'd'].map((app, place) =>
    code(place * 10, { redirect_uri: `https://${app}.test/cb` }),
  ),
  'one user of many who signs in over and over': [
    ...at([0, 10, 20, 30]),
    ...[1, 2, 3, 4, 5].map((user) => code(user * 7, { user_id: `usr_x${user}` })),
  ],
  'tokens that are refreshed': at([0, 10, 20, 30], { refresh_seq: 2 }),
  'a sign-in that works after some that did not': [...at([0, 10, 20]), code(300, { refresh_seq: 2 })],
  'tokens that the app revokes when its user signs out': at([0, 10, 20, 30], {
    revoked_at: start,
    revoked_reason: 'client',
  }),
  'a user who signs out here each time': at([0, 10, 20, 30], { revoked_at: start, revoked_reason: 'sign_out' }),
  'two codes that were not redeemed': [code(0), ...lost([10, 20])],
  'a double click': lost([0, 1, 1, 2]),
  'codes that were not redeemed before one that was': [...lost([0, 10, 20]), code(30)],
  'codes of users who signed out meanwhile': lost([0, 10, 20], { revoked_at: start, revoked_reason: 'sign_out' }),
};

for (const [name, codes] of Object.entries(healthy)) {
  test(`nothing is inferred from ${name}`, () => assert.deepEqual(inferred(codes), []));
}

test('a user who begins again each time is inferred, whatever the order of the rows', () => {
  const codes = [...at([0, 10, 20, 40]), code(1000)];
  assert.deepEqual(inferred(codes), [['signed_in_again', 4, 0, 40]]);
  assert.deepEqual(inferred(codes.toReversed()), [['signed_in_again', 4, 0, 40]]);
});

test('a loop of redirects is inferred once it lasts longer than the start of a browser', () => {
  const loop = Array.from({ length: 24 }, (_, place) => Math.floor(place / 2));
  assert.deepEqual(inferred(at(loop)), [['signed_in_again', 24, 0, 11]]);
});

test('codes that are not redeemed are inferred, once they have expired and unless a refusal explains it', () => {
  const codes = [code(0), ...lost([100, 200]), ...lost([300], { revoked_at: start, revoked_reason: 'expired' })];
  assert.deepEqual(inferred(codes), [['code_not_redeemed', 3, 100, 300]]);
  assert.deepEqual(inferred(codes, { now: start + 359 }), []);
  assert.deepEqual(inferred(codes, { refusedAt: start + 99 }), [['code_not_redeemed', 3, 100, 300]]);
  assert.deepEqual(inferred(codes, { refusedAt: start + 100 }), []);
});

test('users who each sign in once, at any time, are never inferred', () => {
  const times = fc.array(fc.integer({ min: 0, max: 3600 }), { maxLength: 40 });
  fc.assert(
    fc.property(times, (seconds) =>
      assert.deepEqual(inferred(seconds.map((one, place) => code(one, { user_id: `usr_${place}` }))), []),
    ),
  );
});
