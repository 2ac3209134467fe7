import { someBackupCodes } from '../../authentication/statements.ts';
import type { Write } from '../../platform/db/change.ts';
import { asWrite } from '../../platform/db/change.ts';
import { digest } from '../../platform/ids.ts';
import { Type } from '../../platform/schema.ts';
import { compile } from '../../platform/validator.ts';
import { keepMacKey } from '../../platform/vault.ts';
import { type Kind, textOf } from './kind.ts';

const BackupCodeKey = Type.Object(
  { key: Type.String({ description: '32 bytes in base64.', pattern: '^[A-Za-z0-9+/]{43}=$' }) },
  { additionalProperties: false },
);

/** What backup codes are hashed with is derived from the master key, and another store has another one. */
export const backupCodeKeyKind: Kind = {
  name: 'backup_code_key',
  description:
    'A key under which hashes of backup codes are HMAC-SHA-256 of `user_id:code`. Servers of the new store know it once they are started anew.',
  schema: BackupCodeKey,
  shape: compile(BackupCodeKey),
  columns: new Map(),
  async page({ db, vault }) {
    const keys = (await someBackupCodes(db)) ? vault.macKeys('backup-code') : [];
    return { page: keys.map((key) => ({ key })), next: undefined };
  },
  idOf: ({ key }) => digest(textOf(key)),
  stored: {
    references: () => [],
    claimsOf: () => [],
    problems: () => [],
    omission: () => undefined,
    partOf: (db) => db.shared,
    taken: () => Promise.resolve(new Set()),
    existing: () => Promise.resolve(new Set()),
    takenMessage: 'It is here already.',
    isReferredTo: false,
    dangling: 'refused',
    done: () => undefined,
    writes({ vault }, { key }) {
      if (vault.macKeys('backup-code').includes(String(key))) return [];
      return [asWrite(keepMacKey(vault, 'backup-code', String(key))) as Write<unknown, true>];
    },
  },
};
