import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { verifyAuditLog } from '../../src/audit/chain.ts';
import { databaseFile } from '../../src/platform/db/open.ts';
import { afterTest } from '../support/after-test.ts';
import { freePort } from '../support/free-port.ts';
import { openMailbox } from '../support/mailbox.ts';
import { beginLoad, type Effect, Effects, runLoad } from '../support/mixed-load.ts';
import { buildRecorder, type Losses, RecordedDisk } from '../support/recorded-disk.ts';
import { repeated } from '../support/repeated.ts';
import { scratchFolder } from '../support/scratch.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { startServer } from '../support/server-process.ts';
import { startSignet } from '../support/signet.ts';

const images = repeated(4);
const people = 4;
/** Of each of them. With more the log begins anew, and with still more the test would do nothing else. */
const steps = Math.min(60, repeated(12));

for (const workers of ['1', '2']) {
  test(`a loss of power takes nothing that was answered, whatever the disk kept of what was not flushed (workers: ${workers})`, async (t) => {
    const random = seededRandom(t);
    const folder = await scratchFolder('power-loss');
    afterTest(t, () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
    const library = buildRecorder(folder);
    if (!library) return t.skip('there is no C compiler, or no LD_PRELOAD');
    const [disk, record] = [join(folder, 'disk'), join(folder, 'record')];
    mkdirSync(disk);
    const mailbox = await openMailbox(t);
    const port = await freePort();
    const settings = {
      SIGNET_PORT: String(port),
      SIGNET_BASE_URL: `http://localhost:${port}`,
      SIGNET_RATE_LIMITS: 'off',
      SIGNET_SELF_APPROVAL: 'on',
      SIGNET_SMTP_URL: mailbox.url,
    };
    const recording = { LD_PRELOAD: library, RECORD_UNDER: disk, RECORD_TO: record };
    // Neither the folder nor the master key is there yet.
    const env = { ...settings, ...recording, SIGNET_DATA_DIR: join(disk, 'data'), SIGNET_WORKERS: workers };
    const server = await startServer(t, env);
    const effects = new Effects(() => statSync(record).size);
    const [link = ''] = /http\S+\/invite\/\S+/.exec(server.said.stdout) ?? [];
    await runLoad(await beginLoad({ url: server.url, effects, random, mailbox }, link), people, steps);
    const { size } = statSync(record);
    assert.deepEqual(await missing(effects.at(size)), [], 'what was answered is so before the power fails');
    await server.stop();

    const [first] = effects.all;
    const places = Array.from({ length: images }, (_, number) =>
      number % 2 === 0
        ? random.pick(effects.all).answeredAt
        : first!.answeredAt + random.below(size - first!.answeredAt),
    ).sort((one, other) => one - other);
    const model = new RecordedDisk(record, disk);
    const total = { images, bytes: size, effects: effects.all.length, looks: 0, lost: 0 };
    const losses: Losses = { dropped: 0, torn: 0, kept: 0, names: 0 };
    for (const [number, place] of places.entries()) {
      model.advanceTo(place);
      const image = join(folder, `image-${number}`);
      const its = model.writeImage(image, random);
      for (const key of Object.keys(losses) as (keyof Losses)[]) losses[key] += its[key];
      await t.test(`image ${number}, of the first ${place} bytes`, async (t) => {
        const held = effects.at(place);
        total.looks += held.length;
        const lost = await lostIn(t, join(image, 'data'), settings, held);
        total.lost += lost.length;
        assert.deepEqual(lost, []);
      });
      rmSync(image, { recursive: true });
    }
    t.diagnostic(JSON.stringify({ ...total, ...losses }));
  });
}

/** Starts on the image, at the address of the server that is gone, and looks everything up that was answered. */
async function lostIn(
  t: TestContext,
  dataDir: string,
  settings: Record<string, string>,
  held: readonly Effect[],
): Promise<string[]> {
  assert.ok(existsSync(join(dataDir, databaseFile)), 'the database is not there');
  const db = new DatabaseSync(join(dataDir, databaseFile));
  assert.deepEqual({ ...db.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
  db.close();
  const at = Math.floor(Date.now() / 1000);
  const signet = await startSignet(t, { on: { dataDir, at }, env: { ...settings, SIGNET_MASTER_KEY: '' } });
  const lost = await missing(held);
  await signet.runJobs();
  const { broken, unsealed } = await verifyAuditLog(signet.deps);
  assert.deepEqual([broken, unsealed], [undefined, 0]);
  return lost;
}

async function missing(effects: readonly Effect[]): Promise<string[]> {
  const verdicts = await Promise.all(effects.map(async ({ what, holds }) => ({ what, isThere: await holds() })));
  return verdicts.filter(({ isThere }) => !isThere).map(({ what }) => what);
}
