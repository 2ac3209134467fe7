import { exportUsers } from '../../imports/export-users.ts';
import { ImportedUser } from '../../imports/format.ts';
import type { ExportedRecord } from '../../platform/db/exported-table.ts';
import { compile } from '../../platform/validator.ts';
import { type Kind, textOf } from './kind.ts';

export const userKind: Kind = {
  name: 'user',
  description: 'A user with everything that they sign in with, as `signet users import` reads one.',
  schema: ImportedUser,
  shape: compile(ImportedUser),
  columns: new Map(), // those of its format
  stored: undefined,
  async page(deps, after, limit) {
    const { users, next } = await exportUsers(deps, after as string | undefined, limit);
    return { page: users as readonly ExportedRecord[], next };
  },
  idOf: ({ external_id }) => textOf(external_id),
};
