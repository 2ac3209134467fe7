import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { OutcomeUnknown, StoreUnavailable } from '../../src/platform/db/db.ts';
import { acts, refreshes, type World } from '../support/acts-over-parts.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { aMinuteLater, assertNothingHalf } from '../support/nothing-half.ts';
import { cellCount } from '../support/postgres-server.ts';
import { repeated } from '../support/repeated.ts';
import { newDirectory } from '../support/scim.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { Signet } from '../support/signet.ts';

/** How the store fails at a commit, and after it. */
const faults = ['not made, then gone', 'made, then gone', 'not made', 'made, not heard'] as const;
type Fault = (typeof faults)[number];

/** Breaks a commit of the store, counted from 0. @returns whether it came, and what ends it. */
function breakCommit({ deps }: Signet, at: number, fault: Fault) {
  const state = { commits: 0, isBroken: false, isGone: false };
  const stops = deps.db.parts.map((part) => {
    const real = { query: part.query, commit: part.commit };
    const gone = () => {
      if (state.isGone) throw new StoreUnavailable('The process is gone.');
    };
    Object.assign(part, {
      async query(...asked: Parameters<typeof real.query>) {
        gone();
        return real.query(...asked);
      },
      async commit(...asked: Parameters<typeof real.commit>) {
        gone();
        if (state.commits++ !== at) return real.commit(...asked);
        state.isBroken = true;
        if (fault.endsWith('gone')) state.isGone = true;
        if (fault.startsWith('not made')) throw new StoreUnavailable('Cut off.');
        await real.commit(...asked);
        throw new OutcomeUnknown('Cut off.');
      },
    } satisfies typeof real);
    return () => Object.assign(part, real);
  });
  return { state, stop: () => stops.forEach((stop) => void stop()) };
}

/** @returns whether the commit came. */
async function cutOff(world: World, name: string, at: number, fault: Fault): Promise<boolean> {
  const { signet } = world;
  const act = await acts[name]!(world);
  await world.administrator.signIn(); // each act has a minute, and what an administrator does a recent sign-in
  const { state, stop } = breakCommit(signet, at, fault);
  const { status } = await act.send().finally(stop);
  const what = `${name}, commit ${at} ${fault}: ${status}`;
  try {
    assert.ok(state.isBroken || status < 400, 'without a fault it is done');
    await aMinuteLater(world);
    const isDone = await act.isDone();
    if (status < 400) assert.ok(isDone, 'what was confirmed is there');
    if (!isDone) {
      const again = await (act.again ?? act.send)();
      assert.ok(again.status < 400, `again: ${again.status} ${JSON.stringify(again).slice(0, 200)}`);
      assert.ok(await act.isDone(), 'the second time it is done');
      await aMinuteLater(world);
    }
    await assertNothingHalf(world);
  } catch (error) {
    throw new Error(what, { cause: error });
  }
  return state.isBroken;
}

async function startWorld(t: TestContext): Promise<World> {
  const random = seededRandom(t);
  const { signet, upstream } = await startFederatedSignet(t, { engine: 'postgres', cells: 4, mail: true });
  const administrator = await signet.signedInUser({ role: 'admin' });
  return { signet, upstream, administrator, directory: await newDirectory(signet), random, strays: new Set() };
}

/** In a run with more rounds, and in one of cells: every fault at every commit. */
const isThorough = repeated(1) > 1 || cellCount > 0;

test('an act over several parts that is cut off is whole or nothing a minute later', async (t) => {
  const world = await startWorld(t);
  const { signet, random } = world;
  const client = await signet.registerClient();
  const bystander = await (await signet.signedInUser()).obtainTokens(client, { scope: 'openid offline_access' });
  for (const name of Object.keys(acts)) {
    await t.test(name, async (t) => {
      const cut = async (at: number, fault: Fault) => {
        const hasCome = await cutOff(world, name, at, fault);
        assert.ok(await refreshes(client, bystander), 'nobody else notices');
        return hasCome;
      };
      if (!isThorough) return void (await cut(random.below(4), random.pick(faults)));
      let cuts = 0;
      // How many commits there are also depends on which parts are one.
      for (let at = 0, came = 1; came > 0; at += 1) {
        came = 0;
        for (const fault of faults) came += Number(await cut(at, fault));
        cuts += came;
      }
      t.diagnostic(`cut off ${cuts} times`);
    });
  }
});
