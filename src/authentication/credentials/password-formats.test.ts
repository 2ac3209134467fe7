import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { importedHashes, secrets } from '../../../test/support/imported-hashes.ts';
import { newHasher } from '../../../test/support/remembering-hasher.ts';
import { identified } from './hash-queue.ts';
import { needsRehash, passwordHashProblem } from './password-formats.ts';

const { verify } = newHasher({}, { secrets });
const asker = identified('usr_ada', '192.0.2.1');
const isRight = (password: string, stored: string) => verify(password, stored, asker);
const problemOf = (stored: string) => passwordHashProblem(stored, secrets);

for (const { stored, password, from, also = [] } of importedHashes) {
  test(`a hash by ${from} opens with its password alone: ${stored.slice(0, 32)}`, async () => {
    assert.equal(problemOf(stored), undefined);
    for (const right of [password, ...also]) assert.equal(await isRight(right, stored), true, JSON.stringify(right));
    for (const wrong of [
      `x${password.slice(1)}`,
      `x${password}`,
      password.toUpperCase(),
      `${password.slice(0, 40)}x`,
    ]) {
      if (wrong !== password) assert.equal(await isRight(wrong, stored), false, JSON.stringify(wrong));
    }
    assert.equal(await isRight('', stored), password === '');
    assert.equal(needsRehash(stored), true);
  });
}

const salt = 'c29tZXNhbHRzb21lc2FsdA';
const tag = 'CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
const bcrypt = '1iSH9Mjg/7FuvWz2eXNCL.b/R9NvitepaAFkpReMRiF9vdPtmG8YS';
const sha256Crypt = '5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5';

const problems: Record<string, string[]> = {
  unknown_format: [
    '',
    '5f4dcc3b5aa765d61d8327deb882cf99',
    '{SSHA}MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=',
    '$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/',
    `$2x$06$${bcrypt}`,
    '$argon2',
    ` $argon2id$v=19$m=65536,t=2,p=1$${salt}$${tag}`,
  ],
  damaged: [
    `$argon2i$v=19$m=65536,t=2,p=1$${salt}`,
    `$argon2d$v=19$m=7,t=2,p=1$${salt}$${tag}`,
    `$argon2i$v=19$m=65536,t=2,p=1,keyid=Ym9i$${salt}$${tag}`,
    `$argon2i$v=19$m=65536,t=2,p=1,data=Ym9i$${salt}$${tag}`,
    `$argon2id$m=65536,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=20$m=65536,t=2,p=1$${salt}$${tag}`,
    'argon2$argon2id$',
    `$2b$03$${bcrypt}`,
    `$2b$32$${bcrypt}`,
    `$2b$6$${bcrypt}`,
    `$2b$06$${bcrypt.slice(1)}`,
    `$2b$06$${bcrypt}.`,
    `$2b$06$${bcrypt}\n`,
    `bcrypt$${bcrypt}`,
    `bcrypt_sha256$2b$06$${bcrypt}`,
    `$wp$P$B12345678abcdefghijklmnopqrstuv`,
    '$devise$2a$',
    `$pbkdf2-sha256$i=0,l=32$${salt}$${tag}`,
    `$pbkdf2-sha256$i=1000,l=31$${salt}$${tag}`,
    `$pbkdf2-sha256$i=1000$${salt}$${tag}`,
    `$pbkdf2-sha256$i=1000,l=1$${salt}$AA`,
    `$pbkdf2-sha256$i=1000,l=32$${salt}$${tag}!`,
    `pbkdf2_sha256$1000$$${tag}`,
    `pbkdf2_sha256$-1$salt$${tag}`,
    '$aspnet-identity$',
    // "too short" and "extra data at end" of PasswordHasherTest.cs
    '$aspnet-identity$AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggE=',
    '$aspnet-identity$AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJgAAAAAAAAAAAAA=',
    '$aspnet-identity$AQAAAAkAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==',
    '$aspnet-identity$AQAAAAEAACcQ/////wABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==',
    `$scrypt$ln=0,r=8,p=1$${salt}$${tag}`,
    `$scrypt$ln=1000,r=8,p=1$${salt}$${tag}`,
    `$scrypt$ln=16,r=1,p=1$${salt}$${tag}`,
    `$scrypt$ln=14,r=0,p=1$${salt}$${tag}`,
    `$scrypt$ln=${'9'.repeat(400)},r=8,p=1$${salt}$${tag}`,
    `scrypt$1000$salt$8$1$${tag}`,
    '$better-auth$1c50892c354da5b23ec3b5007649bc6e:721d',
    `$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=c2VjcmV0$${salt}$${tag}`,
    `$fbscrypt$v=1,n=14,r=8,p=1,ss=!$${salt}$${tag}`,
    `$5$rounds=999$saltstring$${sha256Crypt}`,
    `$5$rounds=01000$saltstring$${sha256Crypt}`,
    `$5$saltstringsaltstring$${sha256Crypt}`,
    `$6$saltstring$${sha256Crypt}`,
    '$P$6AMcWYnDkDs4VQP4eDWsskdszDNijD',
    '$P$4AMcWYnDkDs4VQP4eDWsskdszDNijD1',
    '$H$zAMcWYnDkDs4VQP4eDWsskdszDNijD1',
  ],
  too_costly: [
    `$argon2i$v=19$m=262145,t=1,p=1$${salt}$${tag}`,
    `$argon2d$v=19$m=65536,t=17,p=1$${salt}$${tag}`,
    `$argon2i$v=16$m=65536,t=5,p=1$${salt}$${tag}`,
    `$2b$16$${bcrypt}`,
    `$wp$2y$31$${bcrypt}`,
    `$pbkdf2-sha256$i=5000001,l=32$${salt}$${tag}`,
    `$pbkdf2-sha1$i=2500001,l=32$${salt}$${tag}`,
    `pbkdf2_sha256$${'9'.repeat(400)}$salt$${tag}`,
    '$aspnet-identity$AQAAAAH/////AAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==',
    `$scrypt$ln=19,r=8,p=1$${salt}$${tag}`,
    `$scrypt$ln=14,r=8,p=65$${salt}$${tag}`,
    `scrypt$2147483648$salt$8$1$${tag}`,
    `$fbscrypt$v=1,n=20,r=8,p=1,ss=Bw==$${salt}$${tag}`,
    `$5$rounds=700001$saltstring$${sha256Crypt}`,
    '$P$IAMcWYnDkDs4VQP4eDWsskdszDNijD1',
  ],
};

for (const [problem, hashes] of Object.entries(problems)) {
  test(`what is ${problem} is told before it is stored, and opens with no password`, async () => {
    for (const stored of hashes) {
      assert.equal(problemOf(stored), problem, stored);
      assert.equal(await isRight('password', stored), false, stored);
    }
  });
}

test('a hash that was made with a secret needs that secret, and the right one', async () => {
  const ofSecrets = importedHashes.filter(({ stored }) => /^\$(devise|fbscrypt)\$/.test(stored));
  assert.ok(ofSecrets.length >= 3);
  const others = { devisePepper: 'another pepper', firebaseSignerKey: Buffer.alloc(64, 1) };
  for (const { stored, password } of ofSecrets) {
    assert.equal(passwordHashProblem(stored, {}), 'secret_missing');
    assert.equal(await newHasher().verify(password, stored, asker), false);
    assert.equal(await newHasher({}, { secrets: others }).verify(password, stored, asker), false);
  }
});

test('other products hashed what was typed, not its normal form', async () => {
  // Django 5.2.19, of a decomposed letter and of a wide space.
  const decomposed = 'cafe\u0301\u3000au lait';
  const hashes = [
    'pbkdf2_sha256$1000$salt$EDUnWs/An/U/Xr8jAaIlQuoVMd9qYSnDc34OFI7IHhU=',
    'argon2$argon2id$v=19$m=512,t=2,p=2$c2FsdHNhbHRzYWx0$rj6cBlu358J0/vCgoPda4HSxuyVfWgS805aLR1Jfakw',
  ];
  for (const stored of hashes) {
    assert.equal(await isRight(decomposed, stored), true, stored);
    assert.equal(await isRight(decomposed.normalize('NFC').replace('\u3000', ' '), stored), false, stored);
  }
});

test('a damaged hash is no exception, whichever byte of it is another', { timeout: 120_000 }, async () => {
  const changed = fc.record({
    of: fc.constantFrom(...importedHashes),
    at: fc.nat(200),
    cut: fc.nat(3),
    by: fc.oneof(fc.constantFrom('', '$', '0', '9', '99999999999', '=', '.', ',', '\0', '\n', 'é', '🐴'), fc.string()),
  });
  await fc.assert(
    fc.asyncProperty(changed, async ({ of: { stored, password }, at, cut, by }) => {
      const start = at % stored.length;
      const damaged = stored.slice(0, start) + by + stored.slice(start + cut);
      const problem = problemOf(damaged);
      if (problem === undefined) await isRight(password, damaged);
    }),
    { seed: 33, numRuns: 1000 },
  );
});

test('the event loop goes on while a hash of each format is computed', async () => {
  const slow = [
    '$2b$11$1iSH9Mjg/7FuvWz2eXNCL.b/R9NvitepaAFkpReMRiF9vdPtmG8YS',
    `$5$rounds=100000$saltstring$${sha256Crypt}`,
    '$P$FAMcWYnDkDs4VQP4eDWsskdszDNijD1',
    `$pbkdf2-sha256$i=1000000,l=32$${salt}$${tag}`,
    `$scrypt$ln=16,r=8,p=1$${salt}$${tag}`,
    `$argon2i$v=19$m=65536,t=4,p=1$${salt}$${tag}`,
    `$argon2i$v=16$m=4096,t=2,p=1$${salt}$${tag}`,
  ];
  for (const stored of slow) {
    assert.equal(problemOf(stored), undefined, stored);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    assert.equal(await isRight('password', stored), false);
    clearInterval(timer);
    assert.ok(turns > 2, `${turns} turns during ${stored}`);
  }
});
