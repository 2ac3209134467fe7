import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from 'pg';
import {
  ForeignKeyViolation,
  OutcomeUnknown,
  StoreMisconfigured,
  StoreUnavailable,
  UniqueViolation,
} from './engine.ts';
import { relayedError, storeError } from './postgres-results.ts';

const raised = (code: string, message = '', routine?: string) =>
  Object.assign(new DatabaseError(message, message.length, 'error'), { code, routine });

/** What a caller of `Db` meets. `ours`: the error as it is, and so a 500; all others are 503 or refusals that are expected. */
const meanings = {
  'not now': (error: unknown) => error instanceof StoreUnavailable && !(error instanceof OutcomeUnknown),
  'unknown, if it was a change': (error: unknown) => error instanceof StoreUnavailable,
  'for the operator': (error: unknown) => error instanceof StoreMisconfigured,
  duplicate: (error: unknown) => error instanceof UniqueViolation,
  orphan: (error: unknown) => error instanceof ForeignKeyViolation,
  ours: (error: unknown) => error instanceof DatabaseError,
};

/** Every class of appendix A, by its codes that a session of ours may meet. */
const decisions: Record<keyof typeof meanings, readonly string[]> = {
  'unknown, if it was a change': [
    ...['08000', '08001', '08003', '08004', '08006', '08007', '08P01'], // the connection broke
    ...['40003', '57P01', '57P02', '57P03'], // the server ends connections
  ],
  'not now': [
    ...['25006', '25P03', '25P04'], // read-only; too long in a transaction
    ...['26000', '42P05'], // a preparation that another statement lost, each time
    ...['40000', '40001', '40002', '40P01'],
    ...['53000', '53100', '53200', '53300', '53400'], // disk, memory, connections
    ...['55000', '55006', '55P03'], // an operator has closed, locked or taken the database
    ...['57000', '57014', '57P04', '57P05'], // cancelled, timed out, dropped
    ...['58000', '58030', '58P01', '58P02'], // the disk fails
    ...['F0000', 'F0001'],
    ...['XX000', 'XX001', 'XX002'], // data or index corrupted
  ],
  'for the operator': [
    ...['28000', '28P01', '3D000'], // password, database
    ...['42501', '42P01', '42703', '3F000'], // permission, table, column, schema
  ],
  duplicate: ['23505'],
  orphan: ['23503'],
  ours: [
    ...['03000', '09000', '0A000', '0B000', '0F000', '0L000', '0P000', '0Z000', '10608', '20000', '21000'],
    ...['22000', '22001', '22003', '22008', '22012', '22021', '22023', '22P02', '22P05'], // no input may reach the store so
    ...['23502', '23514', '23P01', '24000', '25001', '25P01', '25P02', '27000', '2B000', '2D000', '2F000', '34000'],
    ...['38000', '39000', '3B000', '42000', '42601', '42702', '42804', '42883', '42P02', '42P10', '42P18', '44000'],
    ...['54000', '54001', '55P02', '55P04', 'HV000', 'P0001'],
  ],
};

for (const [meaning, codes] of Object.entries(decisions)) {
  test(`what PostgreSQL raises means “${meaning}”: ${codes.join(', ')}`, () => {
    const isMeant = meanings[meaning as keyof typeof meanings];
    for (const code of codes) {
      const error = raised(code);
      for (const sent of ['read', 'change'] as const) {
        assert.ok(isMeant(storeError(error, sent)), `${code} of a ${sent}`);
      }
      const isUnknown = meaning === 'unknown, if it was a change';
      assert.equal(storeError(error, 'change') instanceof OutcomeUnknown, isUnknown, code);
      assert.equal(storeError(error, 'read') instanceof OutcomeUnknown, false, code);
    }
  });
}

test('of what a server has passed on, only the word of who ran it is believed', () => {
  for (const code of [...decisions.duplicate, ...decisions.orphan, '22012', '25006', '26000', '0A000', '42P01']) {
    assert.ok(relayedError(raised(code)) instanceof DatabaseError, code);
  }
  for (const code of [
    ...decisions['unknown, if it was a change'],
    '57014',
    '40001',
    '40P01',
    '53300',
    '55000',
    'XX000',
  ]) {
    assert.ok(relayedError(raised(code)) instanceof OutcomeUnknown, code);
  }
});

test('what a session begins with is the operator’s, unless it only has to wait', () => {
  const ofSettings = ['22023', '42704', '55P02']; // a value that is none, a setting that is none or needs a restart
  for (const code of [...ofSettings, ...decisions['for the operator']]) {
    assert.ok(storeError(raised(code), 'session') instanceof StoreMisconfigured, code);
  }
  for (const code of decisions['not now']) {
    const error = storeError(raised(code), 'session');
    assert.ok(error instanceof StoreUnavailable && !(error instanceof StoreMisconfigured), code);
  }
});

test('two codes mean one thing of the server and another of a statement', () => {
  for (const [code, routine] of [
    ['0A000', 'RevalidateCachedQuery'],
    ['54000', 'GetNewTransactionId'],
    ['54000', 'GetNewMultiXactId'],
  ] as const) {
    assert.ok(storeError(raised(code, '', routine), 'change') instanceof StoreUnavailable, routine);
  }
  for (const routine of ['_bt_check_third_page', undefined]) {
    assert.ok(storeError(raised('54000', '', routine), 'change') instanceof DatabaseError, String(routine));
  }
});

test('a permission that is missing is named with the role that lacks it', () => {
  for (const [role, granted] of [
    ['signet', 'to signet;'],
    ['Signet "x"', 'to "Signet ""x""";'],
  ] as const) {
    const error = storeError(raised('42501', 'permission denied for table grants'), 'change', role);
    assert.ok(error instanceof StoreMisconfigured);
    assert.ok(error.message.endsWith(granted), error.message);
  }
});
