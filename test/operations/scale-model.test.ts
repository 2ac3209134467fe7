import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { Agenda } from '../../bench/scale/agenda.ts';
import { answer, defaults, inputsOf, type ScaleResult, scale, sizes } from '../../bench/scale/answers.ts';
import { calibrate, closedLoop, isWithin } from '../../bench/scale/calibration.ts';
import { Cluster, type Layout } from '../../bench/scale/cluster.ts';
import { costsOf } from '../../bench/scale/costs.ts';
import { Log } from '../../bench/scale/log.ts';
import { keepBusy, Machine, Thread } from '../../bench/scale/machine.ts';
import { people, profile } from '../../bench/scale/people.ts';
import { readMeasured, readResults } from '../../scripts/performance-docs.ts';
import { maxConcurrent, mostWaiting } from '../../src/authentication/credentials/password-hash.ts';
import { seededRandom } from '../support/seeded-random.ts';

const measured = readMeasured();
const main = join(import.meta.dirname, '../simulation/main.ts');
const run = (...args: string[]) => spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });

test('the model says what the bench has measured, to within 15 % of each scenario', () => {
  const all = calibrate(measured);
  for (const engine of ['SQLite', 'PostgreSQL']) {
    const of = all.filter(({ name }) => name.includes(engine));
    assert.ok(of.length >= 10, `those of one process and of two on ${engine}`);
  }
  for (const { name, modelled, measured } of all) {
    assert.ok(measured > 0, `${name} was measured`);
    assert.ok(Math.abs(modelled / measured - 1) <= 0.15, `${name}: ${modelled} in place of ${measured}`);
  }
});

test('a scenario that was measured to be faster than its processor time allows is outside of what the model says', () => {
  const faster = structuredClone(measured);
  faster.windows.postgres.quietest.signet!.refresh!.rate *= 1.4;
  const missed = calibrate(faster).filter((one) => !isWithin(one));
  assert.deepEqual(
    missed.map(({ name }) => name),
    ['refresh on PostgreSQL'],
  );
});

/** As JSON keeps it. */
const kept = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('docs/performance/scale.json is what the model makes of the measured figures', () => {
  const { scale: recorded } = readResults();
  const again = 'npm run simulate -- --scale --json > docs/performance/scale.json, and npm run docs:performance';
  assert.equal(recorded.inputs, inputsOf(measured), again);
  const small = sizes.filter((size) => size.people <= 1e6);
  const { answers, ...rest } = scale(measured, small, defaults(measured));
  assert.deepEqual(kept(rest), kept({ ...recorded, answers: undefined }), again);
  assert.deepEqual(kept(answers), recorded.answers.slice(0, small.length), again);
});

test('the requests of a day are those of its people, and its busiest hour has five times the average', () => {
  const hours = Array.from({ length: 24 * 60 }, (_, minute) => profile(minute / 60));
  assert.ok(Math.abs(hours.reduce((sum, each) => sum + each) / hours.length - 1) < 0.001);
  assert.equal(profile(people.peakHour), Math.max(...hours));
  assert.ok(Math.abs(profile(9) - 5) < 1e-9);
});

test('jobs of equal length that come by chance wait as long as queueing theory says (M/D/1)', (t) => {
  const random = seededRandom(t);
  const agenda = new Agenda();
  const thread = new Thread(new Machine(agenda, 1));
  const [load, jobMs, jobs] = [0.6, 0.5, 200_000];
  let waited = 0;
  let done = 0;
  const arrive = () => {
    const since = agenda.now;
    thread.run(jobMs, () => {
      done += 1;
      waited += agenda.now - since - jobMs;
    });
    agenda.after((-Math.log(1 - random.below(2 ** 32) / 2 ** 32) * jobMs) / load, arrive);
  };
  arrive();
  agenda.run((jobs * jobMs) / load);
  const expected = (load * jobMs) / (2 * (1 - load));
  assert.ok(Math.abs(waited / done / expected - 1) < 0.1, `${waited / done} ms, not ${expected}`);
});

test('threads share processors evenly, and none has more than one', () => {
  const agenda = new Agenda();
  const machine = new Machine(agenda, 2);
  const threads = [0.05, 0.4, 7].map((jobMs) => {
    const thread = new Thread(machine);
    const again = () => thread.run(jobMs, again);
    again();
    return thread;
  });
  agenda.run(3_000);
  for (const { busyMs } of threads) assert.ok(Math.abs(busyMs - 2_000) < 20, `${busyMs} of 2000 ms`);
  const alone = new Machine(agenda, 2);
  const only = new Thread(alone);
  only.run(500, () => {});
  agenda.run(3_400);
  assert.ok(only.busyMs <= 400 && alone.busyMs === only.busyMs);
});

test('a thread that sleeps is dearer to wake where a processor sleeps, too', () => {
  const agenda = new Agenda();
  const machine = new Machine(agenda, 1);
  const [first, second] = [new Thread(machine), new Thread(machine)];
  first.run(1, () => {}, 0.5);
  second.run(1, () => {}, 0.5);
  agenda.run(10);
  assert.deepEqual([first.busyMs, second.busyMs], [1.5, 1]);
});

test('what other work has of the processors is left to it, and nothing else', () => {
  const agenda = new Agenda();
  const machine = new Machine(agenda, 2);
  keepBusy(agenda, machine, 1.5);
  const threads = [0.05, 0.4, 7].map((jobMs) => {
    const thread = new Thread(machine);
    const again = () => thread.run(jobMs, again);
    again();
    return thread;
  });
  agenda.run(3_000);
  const left = threads.reduce((sum, { busyMs }) => sum + busyMs, 0);
  assert.ok(Math.abs(left - 1_500) < 30, `${left} of 1500 ms`);
  const idle = new Machine(agenda, 2);
  keepBusy(agenda, idle, 0);
  agenda.run(6_000);
  assert.equal(idle.busyMs, 0);
});

test('with half of the processors left, the model promises half of the answers', () => {
  const quiet = structuredClone(measured);
  const window = quiet.windows.postgres.quietest.signet!.userinfo!;
  const rateWith = (others: number) => {
    window.others = others;
    return closedLoop(quiet, { engine: 'postgres', kind: 'userinfo' });
  };
  const [less, more] = [rateWith(1.5), rateWith(1)];
  assert.ok(Math.abs(less / more - 0.5) < 0.08, `${less} of ${more}`);
});

test('commits that come during a flush share the next one, and each waits for the standby', () => {
  const agenda = new Agenda();
  const log = new Log(agenda, 10, 3);
  const ends: number[] = [];
  const commit = () => log.commit(() => ends.push(agenda.now));
  commit();
  for (const at of [1, 5, 9]) agenda.after(at, commit);
  agenda.run(100);
  assert.deepEqual([ends, log.flushes], [[13, 23, 23, 23], 2]);
});

/** Four machines with the requests of as many people as they need for half of their processors. */
const layout: Layout = {
  engine: 'postgres',
  people: 2e7,
  machines: 4,
  coresPerMachine: 8,
  processesPerMachine: 4,
  databaseCores: 16,
  flushMs: 1,
  networkMs: 0.25,
};
const costs = costsOf(measured, 'postgres');
const hour = people.peakHour;
const runOf = { hour, warmMs: 200, measuredMs: 1_000 };

test('a lost node loses its share of the requests until the proxy notices, and none after it', () => {
  const { lost, requests, refused } = new Cluster(costs, layout, 1).run(runOf, { what: 'lost_node', detectMs: 400 });
  const share = (requests * 0.4) / layout.machines;
  assert.ok(lost > share * 0.9 && lost < share * 1.3, `${lost} of ${requests}, about ${share}`);
  assert.equal(refused, 0);
  const { lost: none } = new Cluster(costs, layout, 1).run(runOf);
  assert.equal(none, 0);
});

test('a herd is refused what its passwords do not find a place for, once all places are taken', () => {
  const herd = { what: 'herd', factor: 8, durationMs: 1_000 } as const;
  const small = { ...layout, people: 2e6, machines: 1, processesPerMachine: 1 };
  const { refused, refused_by_kind, longest, busy } = new Cluster(costs, small, 1).run(runOf, herd);
  assert.ok(refused > 0 && refused_by_kind.sign_in === refused, JSON.stringify(refused_by_kind));
  assert.equal(longest.passwords, mostWaiting);
  assert.ok(busy.password_threads > 0.95 && maxConcurrent === 2);
});

test('a disk that is slow makes changes wait, and more of them share a statement', () => {
  const usual = new Cluster(costs, layout, 1).run(runOf);
  const slow = new Cluster(costs, layout, 1).run(runOf, { what: 'slow_disk', factor: 20 });
  assert.ok(slow.p50_ms > usual.p50_ms + 20, `${slow.p50_ms} after ${usual.p50_ms} ms`);
  assert.ok(slow.requests_per_statement > usual.requests_per_statement);
});

test('the same seed gives the same answers, and another one others', () => {
  const [small] = sizes;
  const of = (seed: number) => kept(answer(measured, small!, { ...defaults(measured), seed }));
  assert.deepEqual(of(1), of(1));
  assert.notDeepEqual(of(1), of(2));
});

test('npm run simulate -- --scale answers for as many people as wanted, as tables or as JSON', () => {
  const { status, stdout, stderr } = run('--scale', '--people', '0.5', '--json', '--seed', '7', '--herd-factor', '2');
  assert.equal(status, 0, stderr);
  const { answers, options, calibration } = JSON.parse(stdout) as ScaleResult;
  assert.deepEqual([options.seed, options.herdFactor], [7, 2]);
  assert.deepEqual(Object.keys(answers[0]!.faults), ['lost_node', 'slow_disk', 'herd']);
  assert.ok(answers[0]!.people === 500_000 && answers[0]!.machines === 2 && calibration.length > 6);
  const tables = run('--scale', '--people', '0.5');
  assert.equal(tables.status, 0, tables.stderr);
  assert.match(tables.stdout, /^\| 0\.5 million \| one PostgreSQL \| 411 \|/m);
});

test('npm run simulate -- --scale refuses what it does not take, and simulates nothing', () => {
  const refused = (args: string[], sentence: RegExp) => {
    const { status, stdout, stderr } = run(...args);
    assert.deepEqual([status, stdout], [2, ''], args.join(' '));
    assert.match(stderr, sentence);
  };
  for (const people of ['0', '1001', 'all', '']) {
    refused(['--scale', '--people', people], /^--people takes a number from 0\.001 to 1000\.\n/);
  }
  refused(['--scale', '--cores', '2.5'], /^--cores takes a whole number from 1 to 256\.\n/);
  refused(['--scale', '--seeds', '5'], /^--scale has one seed\.\n/);
  refused(['--people', '5'], /^--people is for --scale\.\n/);
  refused(['--scale', '--persons', '5'], /--persons/);
  const help = run('--scale', '--help');
  assert.deepEqual([help.status, help.stderr], [0, '']);
  assert.match(help.stdout, /^ {2}--herd-seconds N +so long \(default 5\)$/m);
});
