import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { fromBase64, haveLengths, imported, isSame, type PasswordFormat, type ReadableHash } from './format.ts';

const derive = promisify(pbkdf2);

type Digest = 'sha1' | 'sha256' | 'sha512';
const digestLength = { sha1: 20, sha256: 32, sha512: 64 } as const satisfies Record<Digest, number>;

/** Of a hash function, in all blocks: three times what is recommended in 2026, some seconds of one processor. */
const maxIterations = 5_000_000;

type Pbkdf2 = { digest: Digest; iterations: number; salt: Buffer | undefined; tag: Buffer | undefined };

function pbkdf2Hash({ digest, iterations, salt, tag }: Pbkdf2): ReadableHash | 'damaged' | 'too_costly' {
  if (!salt || !tag || !haveLengths(salt, tag) || !(iterations >= 1)) return 'damaged';
  if (iterations * Math.ceil(tag.length / digestLength[digest]) > maxIterations) return 'too_costly';
  return imported(async (typed) => isSame(await derive(typed, salt, iterations, tag.length, digest), tag));
}

/**
 * `$pbkdf2-sha256$i=600000,l=32$SALT$HASH`, and passlib's `$pbkdf2-sha256$600000$SALT$HASH`, which writes `.` for `+` and SHA-1 as
 * `$pbkdf2$`.
 */
const phcFormat = (name: string, digest: Digest): PasswordFormat => ({
  prefix: `$${name}$`,
  read(stored) {
    const parts = /^\$[\w-]+\$(?:i=(\d+),l=(\d+)|(\d+))\$([^$]+)\$([^$]+)$/.exec(stored);
    if (!parts) return 'damaged';
    const [, iterations, length, ofPasslib, ...texts] = parts;
    const [salt, tag] = texts.map((text) => fromBase64(ofPasslib ? text.replaceAll('.', '+') : text));
    if (length !== undefined && Number(length) !== tag?.length) return 'damaged';
    return pbkdf2Hash({ digest, iterations: Number(iterations ?? ofPasslib), salt, tag });
  },
});

/** Django's `pbkdf2_sha256$600000$SALT$HASH`: the salt is text. */
const djangoFormat = (digest: 'sha1' | 'sha256'): PasswordFormat => ({
  prefix: `pbkdf2_${digest}$`,
  read(stored) {
    const parts = /^\w+\$(\d+)\$([^$]+)\$([^$]+)$/.exec(stored);
    if (!parts) return 'damaged';
    const [, iterations, salt = '', tag = ''] = parts;
    return pbkdf2Hash({ digest, iterations: Number(iterations), salt: Buffer.from(salt), tag: fromBase64(tag) });
  },
});

/**
 * `$aspnet-identity$` and the base64 that ASP.NET Identity stores. Version 2 is a zero, a salt of 16 bytes and a tag of 32;
 * version 3 a one, the number of the hash function, the iterations and the length of the salt (each in four bytes), the salt and the tag.
 */
const aspNetFormat: PasswordFormat = {
  prefix: '$aspnet-identity$',
  read(stored) {
    const bytes = fromBase64(stored.slice('$aspnet-identity$'.length));
    if (bytes?.[0] === 0 && bytes.length === 49) {
      return pbkdf2Hash({ digest: 'sha1', iterations: 1000, salt: bytes.subarray(1, 17), tag: bytes.subarray(17) });
    }
    if (bytes?.[0] !== 1 || bytes.length < 13) return 'damaged';
    const digest = (['sha1', 'sha256', 'sha512'] as const)[bytes.readUInt32BE(1)];
    const end = 13 + bytes.readUInt32BE(9);
    if (digest === undefined || end > bytes.length) return 'damaged';
    const [salt, tag] = [bytes.subarray(13, end), bytes.subarray(end)];
    return pbkdf2Hash({ digest, iterations: bytes.readUInt32BE(5), salt, tag });
  },
};

export const pbkdf2Formats: readonly PasswordFormat[] = [
  phcFormat('pbkdf2', 'sha1'),
  phcFormat('pbkdf2-sha1', 'sha1'),
  phcFormat('pbkdf2-sha256', 'sha256'),
  phcFormat('pbkdf2-sha512', 'sha512'),
  djangoFormat('sha1'),
  djangoFormat('sha256'),
  aspNetFormat,
];
