import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../app/config.ts';
import { readMasterKey } from './master-key.ts';

const folder = mkdtempSync(join(tmpdir(), 'signet-named-'));
const key = { SIGNET_MASTER_KEY: Buffer.alloc(32, 1).toString('base64') };
const provider = {
  SIGNET_PROVIDER_ACME_ISSUER: 'https://id.acme.test',
  SIGNET_PROVIDER_ACME_CLIENT_ID: 'signet',
  SIGNET_PROVIDER_ACME_CLIENT_SECRET: 'secret',
};
/** Every setting that names a file which is read at the start, with the end of its name. */
const settings = { SIGNET_LOGO: '.png', SIGNET_STYLESHEET: '.css', SIGNET_PROVIDER_ACME_LOGO: '.png' };

/** And those that name the file of a key, which is read when the store is opened. */
const keys = { SIGNET_MASTER_KEY_FILE: '.key', SIGNET_OTHER_MASTER_KEY_FILE: '.key' };

function read(name: string, path: string): void {
  const isKey = name in keys;
  const { masterKey, otherMasterKey } = readConfig({
    ...(name === 'SIGNET_MASTER_KEY_FILE' ? {} : key),
    ...provider,
    [name]: path,
  });
  if (isKey) readMasterKey(name === 'SIGNET_MASTER_KEY_FILE' ? masterKey : otherMasterKey!);
}

for (const [name, end] of Object.entries({ ...settings, ...keys })) {
  const refused = (path: string, sentence: string) =>
    assert.throws(
      () => read(name, path),
      ({ message }: Error) => {
        assert.ok(message.startsWith(`${name} names ${sentence}`), message);
        return true;
      },
    );

  test(`a file of ${name} that cannot be read is said with what to do, and not as the system says it`, () => {
    const at = (file: string) => join(folder, `${name}-${file}${end}`);
    refused(at('none'), 'a file that does not exist.');
    writeFileSync(at('file'), 'x');
    refused(join(at('file'), `within${end}`), 'a file that does not exist.');
    if (!(name in keys)) {
      symlinkSync('/dev/zero', at('device')); // a key may come through a pipe
      refused(at('device'), 'a folder or a device.');
    }
    symlinkSync(folder, at('folder'));
    refused(at('folder'), 'a folder or a device.');
    symlinkSync(at('loop'), at('loop'));
    refused(at('loop'), 'a file that cannot be read (ELOOP). Put another one there');
    if (process.getuid?.() === 0) return; // who may read everything
    chmodSync(at('file'), 0o000);
    refused(at('file'), 'a file that the user of this process may not read (EACCES). Let that user read it');
  });
}
