import assert from 'node:assert/strict';
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { ask } from '../support/browser.ts';
import { signedInClient } from '../support/command-line.ts';
import {
  bareSettings,
  codeFor,
  introspectAt,
  isActiveAt,
  redeemAt,
  refreshAt,
  runProcess,
  startServer,
} from '../support/server-process.ts';
import { until } from '../support/until.ts';

for (const workers of ['1', '2']) {
  test(`a data folder that is replaced under ${workers} serving processes confirms nothing, is named in the log, and is used again once it is back; a file that is written over is not`, async (t) => {
    const bare = await bareSettings(t);
    const settings = { ...bare, SIGNET_WORKERS: workers };
    const folder = bare.SIGNET_DATA_DIR!;
    const server = await startServer(t, settings);
    const { browser, client } = await signedInClient(server);
    const first = await redeemAt(server.url, client, await codeFor(browser, client));
    cpSync(folder, `${folder}.copy`, { recursive: true });
    const { refresh_token } = await refreshAt(server.url, client, first.refresh_token);
    renameSync(folder, `${folder}.away`);
    renameSync(`${folder}.copy`, folder);

    assert.equal((await refreshAt(server.url, client, refresh_token)).status, 503);
    const readiness = async () => (await ask(`${server.url}/readyz`)).json;
    await until('the node is not ready', async () => {
      const { reasons } = (await readiness()) ?? {};
      return JSON.stringify(reasons) === '["file"]';
    });
    await until('nothing is read', async () => (await introspectAt(server.url, client, refresh_token)).status === 503);
    assert.equal((await refreshAt(server.url, client, refresh_token)).status, 503);
    assert.match(
      server.said.stderr,
      /signet\.db is not the one that this server has open any more.*restart the server/,
    );

    renameSync(folder, `${folder}.copy`);
    renameSync(`${folder}.away`, folder);
    let answer = { status: 503, refresh_token: '' };
    await until('the node serves again', async () => {
      answer = await refreshAt(server.url, client, refresh_token);
      return answer.status !== 503;
    });
    assert.equal(answer.status, 200, 'the session goes on');
    assert.equal(await isActiveAt(server.url, client, answer.refresh_token), true);
    await until('the node is ready', async () => (await readiness())?.status === 'ready');

    const backup = `${folder}.backup`;
    assert.equal((await runProcess(['backup', backup], { env: settings })).code, 0);
    writeFileSync(`${folder}/signet.db`, readFileSync(backup));
    await until('the node is not ready', async () => JSON.stringify((await readiness())?.reasons) === '["file"]');
    assert.equal((await refreshAt(server.url, client, answer.refresh_token)).status, 503);
    assert.match(server.said.stderr, /signet\.db was overwritten while this server has it open.*signet restore/);
  });
}
