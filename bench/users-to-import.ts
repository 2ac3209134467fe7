import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

// node bench/users-to-import.ts USERS FILE
// Writes users in our own format, each with a name, an address, a bcrypt hash and the id of another product.

const [count = '1000', path = 'users.jsonl'] = process.argv.slice(2);
const names = 'Ada Grace Olivia Émile Jürgen Nguyễn Søren Zoë Ivan María Chen Fatima Amir Kofi Yuki Lena'.split(' ');
const families = 'Lovelace Hopper Hartmann Noether Gauß Turing Curie Sørensen Okafor Tanaka Ibrahim Novak'.split(' ');
const hash = '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';

const out = createWriteStream(path);
for (let number = 0; number < Number(count); number += 1) {
  const given_name = names[number % names.length]!;
  const family_name = families[(number * 7) % families.length]!;
  const id = createHash('md5').update(String(number)).digest('hex');
  const user = {
    external_id: id.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5'),
    email: `${given_name}.${family_name}.${number}@example.com`.normalize('NFD').replaceAll(/[^\w.@-]/g, ''),
    email_verified: number % 10 !== 0,
    name: `${given_name} ${family_name}`,
    given_name,
    family_name,
    locale: number % 2 === 0 ? 'de' : 'en',
    created_at: 1_500_000_000 + number,
    password_hash: hash,
    ...(number % 50 === 0 && { totp: { secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' } }),
  };
  if (!out.write(`${JSON.stringify(user)}\n`)) await once(out, 'drain');
}
out.end();
