/** `npm run bench:status-lists`: what lists of revoked tokens cost, and how soon they show a revocation. See README.md. */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { inflateSync } from 'node:zlib';
import { createVerifier } from '../packages/verify/src/index.ts';
import { compressed, emptyList, openStatusIndexes, setIndex } from '../src/oauth/status-lists/status-indexes.ts';
import type { Issued } from './contender.ts';
import { formRequest, run } from './load.ts';
import { childrenOf, processorTimes, usedBetween } from './processor-time.ts';
import { codeExchange } from './scenarios.ts';
import { fillStore } from './size/fill-store.ts';
import { openSubject } from './size/subject.ts';
import { whereAndWhen } from './where-and-when.ts';

const help = `Usage: npm run bench:status-lists -- [options]

  --only sizes|exchange|revocation   one part (default: all)
  --pairs N      exchanges with a status and without one, in turn (default 15)
  --grants N     that the suspension of their app revokes (default 100000); several, with commas between them, one after the other
  --json         the result as JSON on stdout, alone
  --help         this text

All of it takes five minutes. Needs no network, and leaves nothing behind.`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    pairs: { type: 'string', default: '15' },
    grants: { type: 'string', default: '100000' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const progress = (text: string) => process.stderr.write(`${text}\n`);
const partRevoked = 0.01;
/** Characters of a signed list but for its bits: header, claims and signature (EdDSA), about. */
const besideBits = 500;
const secondsSince = (at: number) => Math.round((performance.now() - at) / 100) / 10;
const median = (all: readonly number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;

/** Bytes of all lists of some processes that have issued so many tokens in an hour. */
async function sizeOf(tokens: number, processes: number) {
  const givers = Array.from({ length: processes }, () => openStatusIndexes({ clock: Date.now }));
  const revoked = new Map<string, Uint8Array>();
  for (let token = 0; token < tokens; token += 1) {
    const [list = '', index] = (givers[token % processes] as () => string)().split('.');
    const bits = revoked.getOrInsertComputed(list, emptyList);
    if (Math.random() < partRevoked) setIndex(bits, Number(index));
  }
  // In base64url twice: the bits in the claims, and the claims in the token.
  const sizes: number[] = [];
  for (const bits of revoked.values()) sizes.push(Math.ceil(((await compressed(bits)).length * 4) / 3) + besideBits);
  return { tokens, processes, lists: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

async function sizes() {
  const rows: Awaited<ReturnType<typeof sizeOf>>[] = [];
  for (const tokens of [100_000, 1_000_000]) for (const processes of [1, 4]) rows.push(await sizeOf(tokens, processes));
  return rows;
}

/** A client asks for it from this moment on; what servers keep of clients is a second old at most. */
async function setStatus(path: string, wanted: boolean): Promise<void> {
  const db = new DatabaseSync(path, { timeout: 5000 });
  db.prepare('update clients set status_in_access_token = ?').run(wanted ? 1 : 0);
  db.close();
  await sleep(1500);
}

const codesOfMeasurement = 300;

/** The geometric mean of ratios, and its standard error. */
function meanRatio(ratios: readonly number[]) {
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((sum, one) => sum + one, 0) / logs.length;
  const variance = logs.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (logs.length - 1);
  return { mean: Math.exp(mean), error: Math.exp(mean) * Math.sqrt(variance / logs.length) };
}

/** One server, whose clients ask for a status and do not, in turn. */
async function exchanges(pairs: number) {
  const subject = await openSubject();
  try {
    const { contender, address, path } = subject;
    const load = codeExchange(contender);
    const once = async (wanted: boolean) => {
      await setStatus(path, wanted);
      const prepared = await load(codesOfMeasurement);
      const pids = [contender.pid, ...childrenOf(contender.pid)];
      const before = processorTimes(pids);
      const rate = await run(address, prepared);
      return { rate, us: usedBetween(before, processorTimes(pids)) / codesOfMeasurement };
    };
    for (const wanted of [false, true]) await once(wanted); // what runs for the first time
    const found: { rate: number; us: number }[] = [];
    for (let pair = 0; pair < pairs; pair += 1) {
      const order = pair % 2 === 0 ? [true, false] : [false, true];
      const first = await once(order[0]!);
      const second = await once(order[1]!);
      const [given, without] = order[0] ? [first, second] : [second, first];
      found.push({ rate: given.rate / without.rate, us: given.us / without.us });
      progress(
        `pair ${pair + 1}: ${found.at(-1)!.rate.toFixed(2)} times the rate, ${Math.round(given.us)} and ${Math.round(without.us)} µs`,
      );
    }
    const processor = meanRatio(found.map(({ us }) => us));
    return {
      pairs,
      rate_ratio: median(found.map(({ rate }) => rate)),
      processor_ratio: processor.mean,
      processor_ratio_error: processor.error,
    };
  } finally {
    await subject.remove();
  }
}

type Status = { status_list: { idx: number; uri: string } };
const claimsOf = (jwt: string) =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

/** @returns how many are revoked. */
async function readList(uri: string) {
  const text = await (await fetch(uri)).text();
  const { lst } = claimsOf(text).status_list as { lst: string };
  let revoked = 0;
  for (let byte of inflateSync(Buffer.from(lst, 'base64url'))) for (; byte > 0; byte &= byte - 1) revoked += 1;
  return revoked;
}

/** Single revocations of the tokens of some grants, and then that of many at once by the suspension of their client, for each such number. */
async function revocations(numbers: readonly number[]) {
  const all: Awaited<ReturnType<typeof revocationsWith>>[] = [];
  for (const [place, grants] of numbers.entries()) all.push(await revocationsWith(grants, place === 0 ? 20 : 1));
  return { single: all[0]!.single, mass: all.map(({ mass }) => mass) };
}

async function revocationsWith(grants: number, singles: number) {
  const subject = await openSubject();
  try {
    const { address, client, other, path, user_id, contender, environment } = subject;
    await setStatus(path, true);
    const codes = await contender.codes(singles + 2, 'resource server', true);
    const tokens: { access_token: string; refresh_token: string; basic: Issued['basic'] }[] = [];
    for (const { text, basic } of codes) {
      await run(address, {
        ...(await codeExchange({ address, codes: async () => [{ text, basic }] })(1)),
        onAnswer: ({ body }) => tokens.push({ ...JSON.parse(body.toString()), basic }),
      });
    }
    const issuer = environment.SIGNET_BASE_URL!;
    const verify = createVerifier({ issuer, audience: client.client_id });
    const isRefused = (token: string) =>
      verify(token).then(
        () => false,
        (error: { code?: string }) => {
          if (error.code !== 'invalid_token') throw error;
          return true;
        },
      );
    for (const { access_token } of tokens) if (await isRefused(access_token)) throw new Error('It was refused before.');
    const untilRefused = async (token: string, at: number) => {
      while (!(await isRefused(token))) {
        if (secondsSince(at) > 90) throw new Error('It was not refused in 90 s.');
        await sleep(200);
      }
      return secondsSince(at);
    };
    progress('revoking one after the other');
    const waiting: Promise<number>[] = [];
    for (const { access_token, refresh_token, basic } of tokens.slice(0, singles)) {
      const revoke = formRequest(
        address,
        '/oauth/revoke',
        basic,
        new URLSearchParams({ token: refresh_token }).toString(),
      );
      await run(address, { count: 1, next: () => revoke, status: 200, contains: '' });
      waiting.push(untilRefused(access_token, performance.now()));
      await sleep(2300);
    }
    const each = await Promise.all(waiting);

    const last = tokens.at(-1)!.access_token;
    const { status_list } = claimsOf(last).status as Status;
    await subject.stop();
    progress(`making ${grants} grants`);
    const originals = { user_id, client_id: client.client_id, other_client_id: other.client_id };
    fillStore(path, { users: grants, grants: Math.ceil((grants * 6) / 5), clients: 100 }, originals, progress);
    const db = new DatabaseSync(path, { timeout: 5000 });
    const { ref, window } = db
      .prepare('select status_refs as ref, status_window as window from grants where status_refs is not null limit 1')
      .get() as { ref: string; window: number };
    const list = ref.split('.')[0];
    db.prepare(
      `update grants set status_refs = ? || '.' || (rowid * 636413 % 1048576), status_refs_before = null, status_window = ?, client_epoch = 0, user_epoch = 0
        where client_id = ? and revoked_at is null and substr(?, 1, length(grant_id)) <> grant_id`,
    ).run(`${list}`, window, client.client_id, String(claimsOf(last).jti));
    db.prepare('update clients set status_in_access_token = 1').run();
    db.close();
    await subject.start();
    let shown = await readList(status_list.uri);
    const reach = new DatabaseSync(path, { readOnly: true });
    const { many } = reach
      .prepare('select count(distinct status_refs) as many from grants where client_id = ? and revoked_at is null')
      .get(client.client_id) as { many: number };
    reach.close();
    await isRefused(last);
    progress(`suspending the client of ${many} grants`);
    await subject.command('clients', 'suspend', client.client_id, '--reason', 'A bench.');
    const at = performance.now();
    const refused = untilRefused(last, at);
    while (shown < many) {
      if (secondsSince(at) > 600) throw new Error(`Only ${shown} of ${many} are in the list.`);
      await sleep(500);
      shown = await readList(status_list.uri);
    }
    return {
      single: { revocations: singles, slowest_s: Math.max(...each), middle_s: median(each) },
      mass: { grants: many, all_in_list_s: secondsSince(at), refused_s: await refused },
    };
  } finally {
    await subject.remove();
  }
}

async function measure() {
  const wants = (part: string) => values.only === undefined || values.only === part;
  return {
    ...whereAndWhen('bench:status-lists'),
    ...(wants('sizes') && { sizes: await sizes() }),
    ...(wants('exchange') && { exchange: await exchanges(Number(values.pairs)) }),
    ...(wants('revocation') && { revocation: await revocations(values.grants.split(',').map(Number)) }),
  };
}

if (values.help) console.log(help);
else {
  const result = await measure();
  if (values.json) console.log(JSON.stringify(result, undefined, 2));
  else {
    console.table(result.sizes);
    console.log(result);
  }
}
