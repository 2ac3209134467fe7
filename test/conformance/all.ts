import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import tls from 'node:tls';
import { variables } from './choice.ts';
import { type Run, runs } from './plans.ts';
import { type Json, Suite, type Verdict } from './suite.ts';
import { openWorld, type World } from './world.ts';

// What main.ts has chosen, a test for each run and each of its modules.

const isGood = ({ result }: Verdict) => result !== 'FAILED' && result !== 'INTERRUPTED' && result !== 'UNKNOWN';

/** The module of the profile for events says when it waits for them. */
const waitsForEvents = (log: readonly Json[]) =>
  log.some(({ msg }) => String(msg).includes('Please trigger these events on the transmitter now'));

const results: { name: string; verdicts: Verdict[] }[] = [];

function runPlan(t: TestContext, world: World, suite: Suite, run: Run, modules: readonly string[]) {
  const { name, plan: planName, variant, addsPkce = false, without = [], configure } = run;
  return t.test(name, async (t) => {
    const { front, causeSignals } = world;
    front.addsPkce = addsPkce;
    const config = { alias: name, description: name, publish: 'everything', ...(await configure(world, name)) };
    const plan = await suite.createPlan(planName, variant, config);
    console.log(`${name}: ${suite.url}plan-detail.html?plan=${plan.id}`);
    const verdicts: Verdict[] = [];
    results.push({ name, verdicts });
    for (const module of plan.modules) {
      if (without.includes(module.testModule)) continue;
      if (modules.length > 0 && !modules.includes(module.testModule)) continue;
      await t.test(module.testModule, async (t) => {
        let isDone = false;
        const verdict = await suite.run(plan, module, async (log) => {
          if (isDone || !waitsForEvents(log)) return;
          isDone = true;
          await causeSignals();
        });
        verdicts.push(verdict);
        if (!isGood(verdict)) throw new Error([verdict.result, ...verdict.complaints].join('\n'));
        t.diagnostic([verdict.result, ...verdict.complaints].join('\n'));
      });
    }
  });
}

function summary(): string {
  const kinds = ['PASSED', 'REVIEW', 'SKIPPED', 'WARNING', 'FAILED', 'INTERRUPTED'];
  const row = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`;
  const rows = results.map(({ name, verdicts }) =>
    row([name, verdicts.length, ...kinds.map((kind) => verdicts.filter(({ result }) => result === kind).length)]),
  );
  return [row(['run', 'modules', ...kinds.map((kind) => kind.toLowerCase())]), row(Array(8).fill('---')), ...rows].join(
    '\n',
  );
}

const chosen = (name: string) => (process.env[name] ?? '').split('\n').filter(Boolean);

test('plans of the conformance suite', async (t) => {
  const [[url = ''], [ca], names, modules] = [
    chosen(variables.suite),
    chosen(variables.ca),
    chosen(variables.runs),
    chosen(variables.modules),
  ];
  if (ca !== undefined) tls.setDefaultCACertificates([...tls.getCACertificates('default'), readFileSync(ca, 'utf8')]);
  const suite = new Suite(url);
  console.log(`Conformance suite ${await suite.version()}`);
  const world = await openWorld(t, suite.url, ca);
  for (const run of runs) if (names.includes(run.name)) await runPlan(t, world, suite, run, modules);
  console.log(summary());
  assert.ok(
    results.some(({ verdicts }) => verdicts.length > 0),
    'No module of these runs has such a name: nothing ran.',
  );
});
