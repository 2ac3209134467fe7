import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { preparedSettings, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { importedHashes } from '../support/imported-hashes.ts';
import { scratchFolder } from '../support/scratch.ts';

const { stored: password_hash } = importedHashes.find(({ stored }) => stored.startsWith('$2b$'))!;

onBothEngines(
  'IM-11: what is exported is imported elsewhere as it was, and nobody else reads it',
  async (t, engine) => {
    const folder = await scratchFolder('export');
    const [from, to] = [await preparedSettings(t, engine), await preparedSettings(t, engine)];
    for (const settings of [from, to]) await succeed(['groups', 'create', '--name', 'Engineering'], settings);
    const users = [
      {
        external_id: 'old-1',
        sub: 'old-1',
        email: 'ada@example.com',
        email_verified: true,
        name: 'Ada Lovelace',
        preferred_username: 'ada.l',
        zoneinfo: 'Europe/London',
        locale: 'de',
        created_at: 1_600_000_000,
        password_hash,
        password_changed_at: 1_650_000_000,
        totp: { secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' },
        groups: ['Engineering'],
      },
      { external_id: 'old-2', sub: 'old-2', email: 'grace@example.com', email_verified: false, disabled: true },
    ];
    const given = join(folder, 'given.jsonl');
    await writeFile(given, users.map((user) => JSON.stringify(user)).join('\n'));
    await succeed(['users', 'import', given], from);

    const identity = await generateX25519Identity();
    const recipient = await identityToRecipient(identity);
    const file = join(folder, 'users.age');
    assert.equal((await succeed(['users', 'export-all', file, '--recipient', recipient], from)).users, 2);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const sealed = await readFile(file);
    for (const secret of ['ada@', password_hash, 'JBSWY3DP']) assert.equal(sealed.includes(secret), false);

    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    const lines = await decrypter.decrypt(sealed, 'text');
    const read = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      read.sort((one, other) => String(one.sub).localeCompare(String(other.sub))),
      [
        { ...users[0], disabled: false },
        { ...users[1], created_at: read[1]?.created_at },
      ],
    );

    const plain = join(folder, 'plain.jsonl');
    await writeFile(plain, lines);
    assert.equal((await succeed(['users', 'import', plain], to)).imported, 2);
    const again = join(folder, 'again.age');
    await succeed(['users', 'export-all', again, '--recipient', recipient], to);
    const other = new Decrypter();
    other.addIdentity(identity);
    assert.equal(await other.decrypt(await readFile(again), 'text'), lines, 'a round trip gives the same');

    const refused = await runCommand(['users', 'export-all', file, '--recipient', recipient], { env: from });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /is there already/);
    const wrong = await runCommand(['users', 'export-all', join(folder, 'x'), '--recipient', 'age1nonsense'], {
      env: from,
    });
    assert.equal(wrong.code, 2);
  },
);
