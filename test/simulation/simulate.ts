import { sealAuditLog, verifyAuditLog } from '../../src/audit/chain.ts';
import { sliceRows } from '../../src/platform/db/slices.ts';
import { plain } from '../support/plain-sql.ts';
import { type Random, randomOf } from '../support/seeded-random.ts';
import { clockStart } from '../support/store-template.ts';
import { actions, type Context, type Simulation, type Step, weights } from './actions.ts';
import { Violation } from './model.ts';
import type { Caller } from './virtual-store.ts';
import { settled, VirtualTime } from './virtual-time.ts';
import { type Node, openNode, type Start } from './world.ts';

/** What happened, and what of it is against a rule. */
export type Course = { seed: number; steps: number; trace: string[]; error: Error | undefined };
/** What a run did, to know that it did something. */
export type Tally = Record<string, number>;

const planLength = 24;
const maxEvents = 20_000;
const kinds = weights.flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));

const planOf = (random: Random): Step[] => [
  { kind: 'signIn', node: 0, x: 0, y: 0 },
  { kind: 'signIn', node: 0, x: 1, y: 0 },
  ...Array.from({ length: planLength }, () => ({
    kind: random.pick(kinds),
    node: random.below(2),
    x: random.below(1000),
    y: random.below(1000),
  })),
];

type Running = { name: string; caller: Caller; context: Context; isLost: boolean };

async function run(start: Start, seed: number, plan: readonly Step[], tally: Tally): Promise<Course> {
  const random = randomOf(seed ^ 0x5bd1e995);
  const trace: string[] = [];
  const note = (line: string) => void trace.push(line);
  const time = new VirtualTime(clockStart + 1000, random);
  const { store, vault } = start;
  const nodeCount = 1 + random.below(2);
  const mostAtOnce = 1 + random.below(4);
  let faultsPercent = random.percent(50) ? 0 : 3 + random.below(10);
  let moment = 0;
  let incarnation = 0;
  let failure: Error | undefined;
  const nodes: Node[] = [];
  const running = new Set<Running>();

  const openAnother = async () => {
    incarnation += 1;
    const node = await openNode(store, vault, time.clock, `run${incarnation}`);
    node.start().catch(() => undefined);
    return node;
  };

  const simulation: Simulation = {
    start,
    users: start.users.map((user_id) => ({ user_id, isDisabled: false, changes: [] })),
    clients: start.clients.map(({ client_id, client_secret, retry_window }) => ({
      client_id,
      retry_window,
      isSuspended: false,
      secret: client_secret,
      replaced: [],
      changes: [],
    })),
    sessions: [],
    families: [],
    entitlements: new Map(),
    audited: new Map(),
    moment: () => (moment += 1),
    seconds: () => Math.floor(time.clock() / 1000),
    advance: time.advance.bind(time),
    breakDown: store.breakDown.bind(store),
    note,
    async restart(place) {
      const node = nodes[place % nodes.length]!;
      store.kill(node.run_id, random);
      for (const attempt of simulation.families.flatMap(({ attempts }) => attempts)) {
        if (attempt.run_id === node.run_id) attempt.isTroubled = true; // it may be asked for again
      }
      for (const one of running) {
        if (one.context.run_id !== node.run_id) continue;
        one.isLost = true;
        running.delete(one);
        one.context.lost?.();
      }
      nodes[place % nodes.length] = await openAnother();
    },
  };

  function begin(step: Step, number: number): void {
    const node = nodes[step.node % nodes.length]!;
    const name = `${number} ${step.kind} on ${node.run_id}`;
    const caller: Caller = { name, mayFail: 'ever' };
    const context: Context = {
      simulation,
      deps: node.depsFor(caller),
      run_id: step.kind === 'restart' ? 'the operator' : node.run_id,
      isTroubled: () => caller.isFaulted === true,
    };
    const one: Running = { name, caller, context, isLost: false };
    running.add(one);
    note(`${name} begins`);
    tally[step.kind] = (tally[step.kind] ?? 0) + 1;
    actions[step.kind](context, step).then(
      () => running.delete(one),
      (error: unknown) => {
        if (!one.isLost) failure ??= error as Error;
        running.delete(one);
      },
    );
  }

  const needsQuiet = ({ kind }: Step) => kind === 'wait';

  async function carryOut(steps: readonly Step[], first: number, atOnce: number): Promise<void> {
    let next = 0;
    for (let events = 0; failure === undefined; events += 1) {
      await settled();
      if (events > maxEvents) throw new Violation('every request is answered: nothing ends');
      const step = steps[next];
      const mayBegin = step && running.size < (needsQuiet(step) ? 1 : atOnce);
      if (mayBegin && (store.waiting === 0 || random.percent(25))) {
        begin(step, first + next);
        next += 1;
      } else if (store.waiting > 0) {
        if (random.percent(2) && (time.untilNext ?? Infinity) <= 2_000) time.fireNext();
        else store.pick(random, faultsPercent);
      } else if (running.size > 0) {
        if (time.untilNext === undefined) throw new Violation('every request is answered: one waits for nothing');
        time.fireNext();
      } else if (!step) return;
    }
  }

  /** Timers of this long, and what they lead to. */
  async function pass(ms: number): Promise<void> {
    const until = time.clock() + ms;
    for (let events = 0; events < maxEvents; events += 1) {
      await settled();
      if (store.waiting > 0) store.pick(random, 0);
      else if (time.untilNext !== undefined && time.clock() + time.untilNext <= until) time.fireNext();
      else break;
    }
  }

  store.begin(note);
  try {
    if (random.percent(10)) await addCrowd(simulation);
    for (let place = 0; place < nodeCount; place += 1) nodes.push(await openAnother());
    await carryOut(plan, 0, mostAtOnce);
    faultsPercent = 0;
    store.breakDown(0);
    await pass(4_000);
    const uses = simulation.families.map((_, x): Step => ({ kind: 'useNewest', node: x, x, y: 0 }));
    await carryOut(uses, plan.length, 1);
    if (failure === undefined) {
      let isChecked = false;
      const fail = (error: Error) => (failure = error);
      void checkStored(simulation, nodes[0]!)
        .catch(fail)
        .finally(() => (isChecked = true));
      for (; !isChecked; await settled()) time.fireNext(); // the check of the audit log pauses
    }
    for (const { outcome } of simulation.families.flatMap(({ attempts }) => attempts)) {
      tally[`token request: ${outcome}`] = (tally[`token request: ${outcome}`] ?? 0) + 1;
    }
  } catch (error) {
    failure ??= error as Error;
  } finally {
    for (const node of nodes) store.kill(node.run_id, randomOf(0));
    store.end();
    time.end();
  }
  return { seed, steps: plan.length, trace, error: failure };
}

/** More codes of one user, and for one client, than a slice has: what revokes them all is one row, and a job writes the rest. */
async function addCrowd({ start, users, clients }: Simulation): Promise<void> {
  await plain(start.store.direct).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sliceRows + 10})
     insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge, code_expires_at,
                         refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at)
     select 'gr_' || i, $1, $2, 'none', 'openid', '', 'code' || i, '', $4, 0, $3, $3, 1, 'pwd', '1', 1 from n`,
    // The client whose rows come first in the index of a user, so that those of the others are left for the job.
    [
      clients.map(({ client_id }) => client_id).toSorted()[0]!,
      users[0]!.user_id,
      clockStart / 1000 + 9_999,
      clockStart / 1000 - 1, // older than any that the model knows: of too many the oldest are deleted
    ],
  );
}

/** What is in the store at the end is what was told. */
async function checkStored({ start, entitlements, audited, note }: Simulation, node: Node): Promise<void> {
  const db = start.store.direct;
  for (const [user_id, { highest, highestUnknown }] of entitlements) {
    const row = await plain(db).get<{ version: number }>('select version from entitlements where user_id = $1', [
      user_id,
    ]);
    const version = row?.version ?? 0;
    const isRight = version >= highest && version <= Math.max(highest, highestUnknown);
    if (!isRight) throw new Violation(`the highest version is stored: ${version}, told ${highest}`);
  }
  const deps = { ...node.depsFor({ name: 'the end', mayFail: 'never' }), db } as unknown as Parameters<
    typeof sealAuditLog
  >[0];
  await sealAuditLog(deps);
  const report = await verifyAuditLog(deps);
  if (report.broken || report.unsealed > 0) throw new Violation(`the audit chain is whole: ${JSON.stringify(report)}`);
  const actionsTold = new Map(audited);
  const applied = [...entitlements.values()];
  actionsTold.set('entitlement.written', {
    acknowledged: applied.reduce((sum, one) => sum + one.applied, 0),
    unknown: applied.reduce((sum, one) => sum + one.unknown, 0),
  });
  for (const [action, { acknowledged, unknown }] of actionsTold) {
    const row = await plain(db).get<{ n: number }>('select count(*) as n from audit_log where action = $1', [action]);
    const events = row?.n ?? 0;
    note(`${action}: ${acknowledged} acknowledged, ${unknown} unknown, ${events} events`);
    if (events < acknowledged || events > acknowledged + unknown) {
      throw new Violation(
        `each act is in the audit log once: ${action} ${events} times, acknowledged ${acknowledged}, unknown ${unknown}`,
      );
    }
  }
}

/** @param tally is added to. */
export const simulate = (start: Start, seed: number, tally: Tally = {}): Promise<Course> =>
  run(start, seed, planOf(randomOf(seed)), tally);

/** Leaves out steps of the plan as long as the same rule is broken without them. */
export async function shrink(start: Start, broken: Course): Promise<Course> {
  const { seed } = broken;
  const ruleOf = ({ error }: Course) => error?.message.split(':')[0];
  let plan = planOf(randomOf(seed));
  let shortest = broken;
  for (let isShorter = true; isShorter; ) {
    isShorter = false;
    for (let place = plan.length - 1; place >= 0; place -= 1) {
      const shorter = plan.toSpliced(place, 1);
      const course = await run(start, seed, shorter, {});
      if (ruleOf(course) !== ruleOf(broken)) continue;
      [plan, shortest, isShorter] = [shorter, course, true];
    }
  }
  return shortest;
}
