import { createHmac, hash } from 'node:crypto';
import type { ImportedSecrets } from '../../../platform/config.ts';
import { imported, isSame, type PasswordFormat, type ReadableHash, type Unreadable } from './format.ts';
import { hashInThread } from './hash-thread.ts';

/** Twice the time for each more: some two seconds of one processor. */
const maxCost = 15;
/** Characters: the identifier, the cost and the salt, which are the settings of a hash; the digest follows. */
const settingsLength = 29;

/**
 * `$2a$`, `$2b$` and `$2y$` name versions of implementations, which agree on what is hashed: the first 72 bytes of the password in
 * UTF-8. `$2x$` marks hashes of one whose error let many passwords match, and is no format of ours.
 * @param form what of a password is hashed.
 */
function bcryptHash(crypt: string, form: (typed: string) => string): ReadableHash | Unreadable {
  const parts = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(crypt);
  const cost = Number(parts?.[1]);
  if (!parts || cost < 4 || cost > 31) return 'damaged';
  if (cost > maxCost) return 'too_costly';
  const settings = crypt.slice(0, settingsLength);
  return imported(async (typed) => {
    const computed = await hashInThread({ kind: 'bcrypt', password: form(typed), settings });
    return isSame(computed.subarray(settingsLength), crypt.slice(settingsLength));
  });
}

type Form = (typed: string, secrets: ImportedSecrets) => string;

/** @param before what stands before the hash of bcrypt itself, which begins with `$2`. */
const bcryptFormat = (before: string, form: Form, needs?: keyof ImportedSecrets): PasswordFormat => ({
  prefix: before,
  read(stored, secrets) {
    const read = bcryptHash(stored.slice(before.length), (typed) => form(typed, secrets));
    const isWithout = needs !== undefined && secrets[needs] === undefined;
    return typeof read !== 'string' && isWithout ? 'secret_missing' : read;
  },
});

const plain = (prefix: string): PasswordFormat => ({ prefix, read: (stored) => bcryptHash(stored, (typed) => typed) });

/** WordPress takes these from both ends of what was typed: those of PHP's `trim`. */
export const trimAsPhp = (typed: string): string => typed.replace(/^[ \t\n\r\0\v]+|[ \t\n\r\0\v]+$/g, '');

export const bcryptFormats: readonly PasswordFormat[] = [
  ...['$2a$', '$2b$', '$2y$'].map(plain),
  // Django
  bcryptFormat('bcrypt$', (typed) => typed),
  bcryptFormat('bcrypt_sha256$', (typed) => hash('sha256', Buffer.from(typed, 'utf8'), 'hex')),
  // WordPress since 6.8
  bcryptFormat('$wp', (typed) => createHmac('sha384', 'wp-sha384').update(trimAsPhp(typed)).digest('base64')),
  // Devise with a pepper
  bcryptFormat('$devise', (typed, { devisePepper = '' }) => typed + devisePepper, 'devisePepper'),
];
