import { trimAsPhp } from './bcrypt.ts';
import { imported, isSame, type PasswordFormat } from './format.ts';
import { hashInThread } from './hash-thread.ts';

const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The base64 of Unix crypt: the lowest bits of three bytes first. */
function toCrypt64(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const three = bytes.subarray(at, at + 3);
    let bits = three.reduceRight((sum, byte) => sum * 256 + byte, 0);
    for (let count = 0; count <= three.length; count += 1) {
      text += alphabet[bits % 64];
      bits = Math.floor(bits / 64);
    }
  }
  return text;
}

/** Of a hash function: a little above what is the default of any library (passlib: 656,000), some seconds of one processor. */
const maxRounds = 700_000;

/** `$5$SALT$HASH` and `$6$rounds=656000$SALT$HASH`; without a number, 5,000 rounds. Below 1,000 nothing is written. */
const sha2CryptFormat = (prefix: '$5$' | '$6$', algorithm: 'sha256' | 'sha512'): PasswordFormat => ({
  prefix,
  read(stored) {
    const parts = /^\$[56]\$(?:rounds=([1-9]\d{3,8})\$)?([!-#%-9;-~]{0,16})\$([./A-Za-z0-9]+)$/.exec(stored);
    const [, rounds = 5000, salt = '', digest = ''] = parts ?? [];
    if (digest.length !== (algorithm === 'sha256' ? 43 : 86)) return 'damaged';
    if (Number(rounds) > maxRounds) return 'too_costly';
    return imported(async (typed) => {
      const parameters = { password: Buffer.from(typed, 'utf8'), salt: Buffer.from(salt), rounds: Number(rounds) };
      return isSame(toCrypt64(await hashInThread({ kind: 'sha2Crypt', algorithm, ...parameters })), digest);
    });
  },
});

/** Its count is the power of two of a character: at most a million and a half of MD5, as above. */
const maxLog2 = 19;

/** phpass: `$P$` of WordPress before 6.8, `$H$` of phpBB; then a character for the count, eight of salt, and the digest. */
const phpassFormat = (prefix: '$P$' | '$H$', form: (typed: string) => string): PasswordFormat => ({
  prefix,
  read(stored) {
    const parts = /^\$[PH]\$([./A-Za-z0-9])([./A-Za-z0-9]{8})([./A-Za-z0-9]{22})$/.exec(stored);
    const [, character = '', salt = '', digest = ''] = parts ?? [];
    const log2 = alphabet.indexOf(character);
    if (!parts || log2 < 7 || log2 > 30) return 'damaged';
    if (log2 > maxLog2) return 'too_costly';
    return imported(async (typed) => {
      const password = Buffer.from(form(typed), 'utf8');
      return isSame(toCrypt64(await hashInThread({ kind: 'phpass', password, salt: Buffer.from(salt), log2 })), digest);
    });
  },
});

export const cryptFormats: readonly PasswordFormat[] = [
  sha2CryptFormat('$5$', 'sha256'),
  sha2CryptFormat('$6$', 'sha512'),
  phpassFormat('$P$', trimAsPhp),
  phpassFormat('$H$', (typed) => typed),
];
