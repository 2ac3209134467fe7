import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { newApi } from '../support/apis.ts';
import { claimsOf } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import { startSignet } from '../support/signet.ts';
import { isChosen, type StatusListReader, statusListReaders } from './cases.ts';
import { type Command, missingTool, pip, python, run, textOf, unavailable } from './programs.ts';

/*
 * Libraries of Token Status List (draft-ietf-oauth-status-list) that nobody here wrote, with lists of a real Signet. Each reads a list, whose
 * signature is not its business, and says the status of one index.
 *
 *     npm run test:clients -- --only sd-jwt-status-list
 */
const minutes = 60_000;

type Reader = {
  tools: readonly Command[];
  prepare: (folder: string) => Promise<unknown>;
  /** Takes the token and the list, and prints the address of the list and the status. */
  program: { file: string; text: string; command: Command };
};

const npm =
  (...packages: string[]) =>
  async (cwd: string) => {
    await writeFile(join(cwd, 'package.json'), '{ "private": true }');
    await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], { cwd });
  };

const readers: Readonly<Record<StatusListReader, Reader>> = {
  'sd-jwt-status-list': {
    tools: [['npm', '--version']],
    prepare: npm('@sd-jwt/jwt-status-list@0.19.0'),
    program: {
      file: 'read.mjs',
      command: ['node', 'read.mjs'],
      text: `import { getListFromStatusListJWT, getStatusListFromJWT } from '@sd-jwt/jwt-status-list';
const [, , token, list] = process.argv;
const { idx, uri } = getStatusListFromJWT(token);
console.log(uri, getListFromStatusListJWT(list).getStatus(idx));
`,
    },
  },
  'token-status-list': {
    tools: python,
    prepare: pip('token-status-list==0.1.0a2.dev1'),
    program: {
      file: 'read.py',
      command: ['venv/bin/python', 'read.py'],
      text: `import json, sys
from token_status_list import BitArray, b64url_decode
token, signed = sys.argv[1:]
claims = lambda jwt: json.loads(b64url_decode(jwt.split('.')[1].encode()))
place = claims(token)['status']['status_list']
print(place['uri'], BitArray.load(claims(signed)['status_list'])[place['idx']])
`,
    },
  },
};

for (const name of statusListReaders.filter(isChosen)) {
  test(name, { timeout: 10 * minutes }, async (t) => {
    const { tools, prepare, program } = readers[name];
    const missing = await missingTool(tools);
    if (missing !== undefined) return t.skip(missing);
    const folder = await scratchFolder('status-list-');
    const unavailability = await unavailable(() => prepare(folder));
    if (unavailability !== undefined) return t.skip(unavailability);
    await writeFile(join(folder, program.file), program.text);

    const signet = await startSignet(t, { engine: 'sqlite' });
    await newApi(signet, ['files:read'], 'https://files.test', { token_status: 'list' });
    const scope = 'openid offline_access files:read';
    for (const id_token_signed_response_alg of ['EdDSA', 'RS256'] as const) {
      const client = await signet.registerClient({ id_token_signed_response_alg, allowed_scopes: scope.split(' ') });
      const user = await signet.signedInUser();
      const [revoked, good] = [await user.obtainTokens(client, { scope }), await user.obtainTokens(client, { scope })];
      const statusOf = async ({ access_token }: typeof revoked) => {
        const { uri } = (claimsOf(access_token) as unknown as { status: { status_list: { uri: string } } }).status
          .status_list;
        const list = await (await fetch(uri, { headers: { accept: 'application/statuslist+jwt' } })).text();
        const [command, ...args] = program.command;
        const { stdout } = await run(command, [...args, access_token, list], { cwd: folder }).catch((error) =>
          assert.fail(textOf(error)),
        );
        const [address, status] = stdout.trim().split(' ');
        assert.equal(address, uri);
        return status;
      };
      assert.deepEqual([await statusOf(revoked), await statusOf(good)], ['0', '0']);
      assert.equal((await client.post('/oauth/revoke', { token: revoked.refresh_token })).status, 200);
      signet.clock.advance(5);
      assert.deepEqual([await statusOf(revoked), await statusOf(good)], ['1', '0']);
    }
  });
}
