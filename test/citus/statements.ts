import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { createCellTexts } from '../../src/platform/db/cell-texts.ts';
import { afterTest } from '../support/after-test.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import { scratchFolder } from '../support/scratch.ts';
import { addressOf, freshCluster, placesOf, signetOn, skip } from './cluster.ts';
import type { Noted } from './note-statements.ts';
import { asAsked, collectStatements, type Plan, planOf } from './plans.ts';

/** Tests that together have the store asked all that it ever is. */
const files = (
  process.env.CITUS_STATEMENTS_OF ?? 'test/platform/openapi-examples.test.ts test/operations/jobs-of-parts.test.ts'
)
  .split(' ')
  .flatMap((pattern) => globSync(pattern));

/**
 * In steps, one after the other on the same node: an `insert` within `with` by itself, before what is around it, as is a change of a shared
 * table; and of what the coordinator has for itself, what stands in a shared table first.
 */
const isInSteps = {
  inCell: /^with changed as \(insert\b/,
  atCoordinator: /^with changed as \(|^(?:update|delete from) webhook_deliveries\b.* webhooks\b/,
};

test('Citus answers each statement on one node, by one task', { skip }, async (t) => {
  const cluster = await freshCluster(t);
  const signet = await signetOn(t, cluster);
  const folder = await scratchFolder('statements');
  afterTest(t, () => rm(folder, { recursive: true, force: true }));
  const noted = await collectStatements(folder, files);
  assert.ok(noted.length > 350, `${noted.length} statements`);

  const node = placesOf(signet)[0]!;
  const worker = cluster.workers.find((url) => addressOf(url) === node)!;
  await t.test('in a cell', async (t) => {
    const plans = await plansOf(t, noted, createCellTexts('c0'), worker);
    const own = [node, `localhost:${node.split(':').at(-1)}`]; // the latter of what it has read itself
    assert.deepEqual(
      plans.filter((plan) => 'refused' in plan || plan.nodes.some((one) => !own.includes(one))),
      [],
    );
    assert.deepEqual(
      plans.filter((plan) => hasMoreTasks(plan) && !isInSteps.inCell.test(plan.sql)),
      [],
    );
  });

  await t.test('of what is in no cell, at the coordinator', async (t) => {
    const plans = await plansOf(t, noted, createCellTexts(undefined, 'strict'), cluster.url);
    assert.deepEqual(
      plans.filter((plan) => 'refused' in plan),
      [],
    );
    assert.deepEqual(
      plans.filter((plan) => hasMoreTasks(plan) && !isInSteps.atCoordinator.test(plan.sql)),
      [],
    );
  });
});

const hasMoreTasks = (plan: Plan): boolean => 'tasks' in plan && plan.tasks > 1;

async function plansOf(
  t: TestContext,
  noted: readonly Noted[],
  texts: ReturnType<typeof createCellTexts>,
  url: string,
) {
  const plans: Plan[] = [];
  await asAdmin(url, async (client) => {
    for (const one of noted) {
      const asked = asAsked(one, texts);
      const plan = asked && (await planOf(client, asked));
      if (plan !== undefined) plans.push(plan);
    }
  });
  const counts = Map.groupBy(plans, (plan) =>
    'refused' in plan ? 'refused' : plan.tasks > 1 ? 'in steps' : plan.tasks === 1 ? 'one task' : 'by itself',
  );
  t.diagnostic(`${plans.length} statements: ${[...counts].map(([kind, of]) => `${kind} ${of.length}`).join(', ')}`);
  return plans;
}
