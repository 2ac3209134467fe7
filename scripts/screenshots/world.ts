import { rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { runJobs } from '../../src/app/jobs.ts';
import { closeDeps, openDeps, openLog } from '../../src/app/open-deps.ts';
import { createUser } from '../../src/authentication/account-links/create-user.ts';
import type { Deps } from '../../src/oauth/deps.ts';
import { openDb } from '../../src/platform/db/open.ts';
import { dayOf } from '../../src/statistics/daily-counts.ts';
import { plain } from '../../test/support/plain-sql.ts';
import { rememberingHasher } from '../../test/support/remembering-hasher.ts';
import { scratchFolder } from '../../test/support/scratch.ts';
import { clockStart, masterKey, prepareStore } from '../../test/support/store-template.ts';
import {
  Agent,
  accounts,
  devices,
  enableTotp,
  type Name,
  obtainTokens,
  password,
  seed,
  type World,
} from '../seeded-world.ts';
import { type BrandName, brandSheet } from './brands.ts';

/** Where the pages are in the pictures, whatever port this process listens at. */
export const origin = 'http://localhost:3000';

export type ShownWorld = World & {
  port: number;
  /** A document that shows a brand, which the world has from then on. */
  brandSheet(name: BrandName): Promise<string>;
  close(): Promise<void>;
};

/** The world of `npm run dev:seed`, in use for a month, at times that are the same in each run. */
export async function openWorld(): Promise<ShownWorld> {
  const dataDir = await scratchFolder('screenshots');
  const config = readConfig({
    SIGNET_BASE_URL: origin,
    SIGNET_DATA_DIR: dataDir,
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_SMTP_URL: 'smtp://mail.example.com',
    SIGNET_GOOGLE_CLIENT_ID: 'example',
    SIGNET_GOOGLE_CLIENT_SECRET: 'example',
  });
  const db = await openDb({ dataDir, databaseUrl: undefined });
  await prepareStore(db);
  await db.close();
  let at = clockStart;
  const clock = () => at;
  // As for a command, which queues mail and sends none.
  const deps = await openDeps(config, {
    clock,
    log: openLog('error'),
    passwords: rememberingHasher(),
    role: 'command',
  });
  const app = await buildApp(deps);
  const pass = async (seconds: number) => {
    await deps.clientFailures.close(); // what no request waits for
    await runJobs(deps, ['seal the audit log']);
    at += seconds * 1000;
  };
  let isInUse = true;
  app.addHook('onRequest', async () => isInUse && pass(7)); // no two things happen at once, or chance would order them
  const world = await seed(deps, app, pass);
  await use(deps, app, world, pass);
  isInUse = false;
  await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    ...world,
    port: (app.server.address() as AddressInfo).port,
    brandSheet: (name) => brandSheet(deps, name),
    async close() {
      await app.close();
      await closeDeps(deps);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const day = 86_400;

/** What is seen of persons, and what only many of them would have done. */
async function use(
  deps: Deps,
  app: FastifyInstance,
  { as, ids, clients, webhook_id }: World,
  pass: (seconds: number) => Promise<void>,
): Promise<void> {
  const signIn = async (name: Name, device = devices.desk) => {
    as[name] = new Agent(app, origin, device);
    await as[name].send('POST', '/signin', { form: { username: accounts[name].email, password } });
  };
  const { run } = plain(deps.db);
  await run(
    `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, backed_up_at, name, created_at,
                           last_used_at) values ('grace1', $1, 'x', 0, 'internal', $2, 'iPhone', $2, $2)`,
    [ids.grace, Math.floor(deps.clock() / 1000) - 3 * day],
  );
  await pass(10 * 3600);
  await as.mary.post('/signout');
  await signIn('mary', devices.phone);
  await obtainTokens(as.mary, clients.weather);
  await as.alan.post('/signout');
  await signIn('alan');
  await pass(7 * 3600);
  await signIn('ada');
  await enableTotp(as.ada, deps.clock());
  // Two administrators, and a copy of the master key: a new installation has nothing left to do.
  const margaret = { name: 'Margaret Hamilton', email: 'margaret@example.com', role: 'admin' } as const;
  await createUser(deps, { ...margaret, password, emailVerified: true }, 'cli');
  await as.ada.send('POST', '/admin/master-key-backup');
  await signIn('mary');
  await as.mary.post('/v1/me/2fa/totp/enroll');
  await pass(240);
  // All deliveries have arrived but the latest.
  await run('update webhook_deliveries set attempts = 1, next_attempt_at = null, delivered_at = created_at + 2');
  await run(
    `update webhook_deliveries set attempts = 4, delivered_at = null, next_attempt_at = created_at + 90000,
                                   last_error = 'The receiver responded with 503.'
      where webhook_id = $1 and created_at = (select max(created_at) from webhook_deliveries)`,
    [webhook_id],
  );
  await countDays(deps, clients.notes.client_id);
}

/** What charts show, instead of two months of many people. */
async function countDays({ db, clock, ...deps }: Deps, client_id: string): Promise<void> {
  await runJobs({ db, clock, ...deps }, ['seal the audit log', 'count audit events', 'count refused sign-ins']);
  const { run } = plain(db);
  const count = (of: string, kind: string, place: number, count: number) =>
    run(
      `insert into daily_counts (client_id, kind, day, count) values ($1, $2, $3, $4)
       on conflict (client_id, kind, day) do update set count = daily_counts.count + excluded.count`,
      [of, kind, place, count],
    );
  await count('', 'account', 0, 1204);
  const today = dayOf(clock() / 1000);
  for (let ago = 0; ago < 60; ago += 1) {
    const wave = (of: number, height: number) =>
      Math.round(height * (ago < 30 ? 1 : 0.8) * (1 + Math.sin(ago * of) * Math.cos(ago * 1.7) * 0.4));
    const isWeekend = [0, 6].includes((today - ago + 4) % 7);
    const share = ago === 0 ? 0.4 : isWeekend ? 0.35 : 1;
    const of = { sign_in: wave(2.1, 140), refused: wave(3.3, 9), sign_up: wave(1.3, 6), last_active: wave(0.9, 20) };
    for (const [kind, number] of Object.entries(of)) await count('', kind, today - ago, Math.round(number * share));
    await count('', 'client', today - ago, ago % 11 === 4 ? 1 : 0);
    await count(client_id, 'sign_in', today - ago, Math.round(wave(1.9, 34) * share));
    await count(client_id, 'failure', today - ago, ago % 13 === 7 ? 3 : 0);
  }
}
