import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPace, type RunSlice, shareOfTime } from './pace.ts';

/** An event loop whose time the test moves. */
function virtualLoop() {
  const loop = { active: 0, idle: 0 };
  const sleeping: { until: number; wake: () => void }[] = [];
  const at = () => loop.active + loop.idle;
  const made = createPace({
    loopTime: () => ({ ...loop }),
    wait: (ms) => new Promise<void>((wake) => sleeping.push({ until: at() + ms, wake })),
  });
  /** Until nothing waits any more. */
  async function run(works: readonly Promise<unknown>[], tick = () => {}) {
    let isDone = false;
    void Promise.all(works).then(() => (isDone = true));
    for (;;) {
      await new Promise(setImmediate);
      if (isDone) return;
      tick();
      const [next] = sleeping.toSorted((a, b) => a.until - b.until);
      if (!next) continue;
      sleeping.splice(sleeping.indexOf(next), 1);
      loop.idle += Math.max(0, next.until - at());
      next.wake();
    }
  }
  return { loop, pace: made, run };
}

async function work(runSlice: RunSlice, slices: number, slice: (rows: number) => void) {
  for (let done = 0; done < slices; done += 1) await runSlice(async (rows) => slice(rows));
}

const share = ({ active, idle }: { active: number; idle: number }) => active / (active + idle);

test('while requests come, all work over many rows together has a quarter of the time', async () => {
  for (const works of [1, 3]) {
    const { loop, pace, run } = virtualLoop();
    const use = (rows: number) => {
      loop.active += rows * 0.1;
    };
    await run(
      Array.from({ length: works }, () => work(pace.slices(), 100, use)),
      () => pace.requestArrived(),
    );
    assert.ok(share(loop) < shareOfTime.busy * 1.05, `${works}: ${share(loop)}`);
    assert.ok(share(loop) > shareOfTime.busy * 0.8, `${works}: no slower than that: ${share(loop)}`);
  }
});

test('many small jobs one after the other have no more of it than a large one', async () => {
  const { loop, pace, run } = virtualLoop();
  const use = () => {
    loop.active += 1;
    pace.requestArrived();
  };
  const jobs = async () => {
    for (let job = 0; job < 300; job += 1) await work(pace.slices(), 1, use);
  };
  await run([jobs()]);
  assert.ok(share(loop) < shareOfTime.busy * 1.05, `${share(loop)}`);
});

test('works that wait for the same moment do not all begin at it', async () => {
  const { loop, pace, run } = virtualLoop();
  const began: number[] = [];
  const use = () => {
    began.push(loop.active + loop.idle);
    loop.active += 0.1;
  };
  await run(Array.from({ length: 5 }, () => work(pace.slices(), 10, use)));
  for (const [place, at] of began.slice(5).entries()) {
    assert.ok(place === 0 || at - began[place + 4]! > 1.99, `${began}`);
  }
});

test('while none come, such work has most of it, and the next request slows it down', async () => {
  const { loop, pace, run } = virtualLoop();
  const use = (rows: number) => {
    loop.active += rows * 0.1;
  };
  await run([work(pace.slices(), 100, use)]);
  assert.ok(share(loop) > 0.6 && share(loop) <= shareOfTime.idle * 1.05, `${share(loop)}`);
  const before = { ...loop };
  pace.requestArrived();
  await run([work(pace.slices(), 20, use)]);
  const since = { active: loop.active - before.active, idle: loop.idle - before.idle };
  assert.ok(share(since) < shareOfTime.busy * 1.2, `${share(since)}`);
});

test('what waits for the disk keeps no one waiting, and needs no pause besides', async () => {
  const { loop, pace, run } = virtualLoop();
  const runSlice = pace.slices();
  const flush = () => {
    loop.active += 6;
    loop.idle += 60;
  };
  await run([work(runSlice, 100, flush)], () => pace.requestArrived());
  assert.ok(loop.active + loop.idle < 100 * 70, 'two milliseconds between slices');
});

test('a slice has as many rows as take 5 to 8 ms', async () => {
  for (const msPerRow of [0.02, 0.1, 1]) {
    const { loop, pace, run } = virtualLoop();
    const took: number[] = [];
    const use = (rows: number) => {
      took.push(rows * msPerRow);
      loop.active += rows * msPerRow;
    };
    await run([work(pace.slices(), 20, use)]);
    for (const ms of took.slice(5)) assert.ok(ms >= 5 && ms <= 8, `${msPerRow}: ${took}`);
  }
  const { pace, run } = virtualLoop();
  let most = 0;
  const note = (rows: number) => {
    most = Math.max(most, rows);
  };
  await run([work(pace.slices(), 20, note)]);
  assert.equal(most, 500, 'never more than a statement may change');
  await run([work(pace.slices(100), 20, (rows) => assert.ok(rows <= 100))]);
});

test('a process that stood still works again after a second', async () => {
  const { loop, pace, run } = virtualLoop();
  pace.requestArrived();
  const stand = () => {
    loop.active += 3_600_000;
  };
  const runSlice = pace.slices();
  await run([work(runSlice, 1, stand)], () => pace.requestArrived());
  await run([work(runSlice, 1, () => {})], () => pace.requestArrived());
  assert.ok(loop.idle <= 1000, `${loop.idle}`);
});

test('a slice that fails is counted, and the next one runs', async () => {
  const { loop, pace, run } = virtualLoop();
  const runSlice = pace.slices();
  const fail = runSlice(async () => {
    loop.active += 6;
    pace.requestArrived();
    throw new Error('no');
  });
  await run([assert.rejects(fail, /no/)], () => pace.requestArrived());
  await run([work(runSlice, 1, () => {})], () => pace.requestArrived());
  assert.ok(loop.idle >= 18, `${loop.idle}`);
});
