import type { ImportedSecrets } from '../../platform/config.ts';
import { argon2Formats } from './formats/argon2.ts';
import { bcryptFormats } from './formats/bcrypt.ts';
import { cryptFormats } from './formats/crypt.ts';
import type { PasswordFormat, ReadableHash, Unreadable } from './formats/format.ts';
import { pbkdf2Formats } from './formats/pbkdf2.ts';
import { scryptFormats } from './formats/scrypt.ts';

/** Django puts a name of its own before what the reference implementation of Argon2 writes. */
const djangoArgon2: PasswordFormat = {
  prefix: 'argon2$argon2',
  read: (stored, secrets) => readHash(stored.slice('argon2'.length), secrets),
};

/** Whatever a stored hash may be: of ours, or of another product, whose users sign in with their old passwords. */
const passwordFormats: readonly PasswordFormat[] = [
  ...argon2Formats,
  djangoArgon2,
  ...bcryptFormats,
  ...pbkdf2Formats,
  ...scryptFormats,
  ...cryptFormats,
];

export const readHash = (stored: string, secrets: ImportedSecrets): ReadableHash | Unreadable =>
  passwordFormats.find(({ prefix }) => stored.startsWith(prefix))?.read(stored, secrets) ?? 'unknown_format';

/** Why a password can never match a stored hash; undefined: one may. For those who store hashes of other products. */
export function passwordHashProblem(stored: string, secrets: ImportedSecrets): Unreadable | undefined {
  const read = readHash(stored, secrets);
  return typeof read === 'string' ? read : undefined;
}

/** Whether a stored hash is none of today's. The caller then stores a new one after a successful sign-in. */
export function needsRehash(stored: string): boolean {
  const hash = readHash(stored, {});
  return typeof hash === 'string' || !hash.isCurrent;
}
