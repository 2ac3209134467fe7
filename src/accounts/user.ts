import { choice, id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import type { UserId } from '../platform/ids.ts';

/** A person's account. Times are Unix seconds. */
export const User = row('users', {
  user_id: id<UserId>(),
  email: text,
  email_verified_at: nullable(integer),
  name: nullable(text),
  picture: nullable(text),
  role: choice('user', 'admin'),
  locale: nullable(text),
  disabled_at: nullable(integer),
  created_at: integer,
  updated_at: integer,
});
export type User = RowOf<typeof User>;
export type Role = User['role'];
