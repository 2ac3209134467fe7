import { createCipheriv, type ScryptOptions, scrypt } from 'node:crypto';
import { unavailable } from '../../../platform/errors.ts';
import {
  fromBase64,
  haveLengths,
  imported,
  isSame,
  maxMemory,
  maxMemoryWork,
  type PasswordFormat,
  type ReadableHash,
} from './format.ts';

type Cost = { N: number; r: number; p: number };

/** Bytes: what the algorithm needs (RFC 7914), and as much again for what OpenSSL adds. */
const memoryOf = ({ N, r, p }: Cost): number => 128 * r * (N + p + 2);

/** RFC 7914 §2; beyond 2^32 no implementation goes. */
const makesHash = ({ N, r, p }: Cost): boolean =>
  Number.isInteger(Math.log2(N)) && N >= 2 && N < 2 ** Math.min(33, 16 * r) && r >= 1 && p >= 1 && r * p < 2 ** 30;

const isTooCostly = (cost: Cost): boolean =>
  memoryOf(cost) > (maxMemory + 1024) * 1024 || (128 * cost.N * cost.r * cost.p) / 1024 > maxMemoryWork;

/** In the thread pool, where nothing fails but for want of memory. @throws {RequestError} `temporarily_unavailable`. */
function derive(password: string, salt: Buffer, length: number, cost: Cost): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const options: ScryptOptions = { ...cost, maxmem: 2 * memoryOf(cost) };
  scrypt(password, salt, length, options, (error, key) => (error ? reject(unavailable(error)) : resolve(key)));
  return promise;
}

type Scrypt = { cost: Cost; salt: Buffer | undefined; tag: Buffer | undefined };

function scryptHash(
  { cost, salt, tag }: Scrypt,
  form = (typed: string) => typed,
): ReadableHash | 'damaged' | 'too_costly' {
  if (!salt || !tag || !haveLengths(salt, tag) || !makesHash(cost)) return 'damaged';
  if (isTooCostly(cost)) return 'too_costly';
  return imported(async (typed) => isSame(await derive(form(typed), salt, tag.length, cost), tag));
}

/** `$scrypt$ln=15,r=8,p=1$SALT$HASH`. Kratos writes N itself for its logarithm, which is never as large. */
const phcFormat: PasswordFormat = {
  prefix: '$scrypt$',
  read(stored) {
    const parts = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(stored);
    if (!parts) return 'damaged';
    const [ln = 0, r = 0, p = 0] = parts.slice(1, 4).map(Number);
    const [salt, tag] = parts.slice(4).map(fromBase64);
    return scryptHash({ cost: { N: ln < 64 ? 2 ** ln : ln, r, p }, salt, tag });
  },
};

/** Django's `scrypt$N$SALT$r$p$HASH`: the salt is text. */
const djangoFormat: PasswordFormat = {
  prefix: 'scrypt$',
  read(stored) {
    const parts = /^scrypt\$(\d+)\$([^$]+)\$(\d+)\$(\d+)\$([^$]+)$/.exec(stored);
    if (!parts) return 'damaged';
    const [, N, salt = '', r, p, tag = ''] = parts;
    const cost = { N: Number(N), r: Number(r), p: Number(p) };
    return scryptHash({ cost, salt: Buffer.from(salt), tag: fromBase64(tag) });
  },
};

/** `$better-auth$` and its `SALT:KEY` in hexadecimal. It hashes the password in NFKC, and the salt as that text. */
const betterAuthFormat: PasswordFormat = {
  prefix: '$better-auth$',
  read(stored) {
    const parts = /^\$better-auth\$([0-9a-f]{32}):([0-9a-f]{128})$/.exec(stored);
    if (!parts) return 'damaged';
    const [, salt = '', key = ''] = parts;
    const cost = { N: 16_384, r: 16, p: 1 };
    return scryptHash({ cost, salt: Buffer.from(salt), tag: Buffer.from(key, 'hex') }, (typed) =>
      typed.normalize('NFKC'),
    );
  },
};

/**
 * Firebase encrypts the signer key of the project, which is secret, by a key that it derives from the password:
 * `$fbscrypt$v=1,n=MEM_COST,r=ROUNDS,p=1,ss=SALT_SEPARATOR$SALT$HASH`.
 */
const firebaseFormat: PasswordFormat = {
  prefix: '$fbscrypt$',
  read(stored, { firebaseSignerKey: signerKey }) {
    const parts = /^\$fbscrypt\$v=1,n=(\d+),r=(\d+),p=(\d+),ss=([^,$]*)\$([^$]+)\$([^$]+)$/.exec(stored);
    if (!parts) return 'damaged';
    const [n = 0, r = 0, p = 0] = parts.slice(1, 4).map(Number);
    const [, , , , ss = '', ...texts] = parts;
    const separator = ss === '' ? Buffer.alloc(0) : fromBase64(ss);
    const [salt, tag] = texts.map(fromBase64);
    const cost = { N: 2 ** n, r, p };
    if (!separator || !salt || !tag || !haveLengths(salt, tag) || !makesHash(cost)) return 'damaged';
    if (isTooCostly(cost)) return 'too_costly';
    if (!signerKey) return 'secret_missing';
    return imported(async (typed) => {
      const key = await derive(typed, Buffer.concat([salt, separator]), 32, cost);
      return isSame(createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(signerKey), tag);
    });
  },
};

export const scryptFormats: readonly PasswordFormat[] = [phcFormat, djangoFormat, betterAuthFormat, firebaseFormat];
