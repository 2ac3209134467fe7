import type { Caller } from '../audit/audit.ts';
import type { Deps } from '../oauth/deps.ts';
import { now } from '../platform/clock.ts';
import { RequestError } from '../platform/errors.ts';
import type { NewSecret } from './kind.ts';
import type { Lease } from './lease.ts';
import type { Plan, Step } from './plan.ts';
import { forgetDeclared, rememberDeclared } from './store.ts';

export type Done = { readonly step: Step; readonly secret: NewSecret | undefined };
export type Applied = {
  readonly done: readonly Done[];
  /** The step that was refused: nothing after it was done. */
  readonly refused?: { readonly step: Step; readonly error: RequestError };
  /** Another apply has begun before this step: nothing after it was done. */
  readonly overtaken?: Step;
};

/** Does what a plan says, one after the other, each with its own audit events. Repeated, it goes on where it was refused. */
export async function applyPlan(deps: Deps, caller: Caller, plan: Plan, lease: Lease): Promise<Applied> {
  for (const one of plan.recognized) await remember(deps, one);
  for (const row of plan.gone) await deps.db.shared.change({ run: { declared: forgetDeclared(row) } });
  const done: Done[] = [];
  for (const step of plan.steps) {
    if (!(await lease.isHeld())) return { done, overtaken: step };
    try {
      done.push({ step, secret: await applyStep(deps, caller, step) });
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return { done, refused: { step, error } };
    }
  }
  return { done };
}

async function remember(deps: Deps, declared: Plan['recognized'][number]): Promise<void> {
  await deps.db.shared.change({ run: { declared: rememberDeclared({ ...declared, declared_at: now(deps) }) } });
}

async function applyStep(deps: Deps, caller: Caller, step: Step): Promise<NewSecret | undefined> {
  const { action, kind, key, state, existing, secret, differences } = step;
  const work = { deps, caller, secret };
  const row = { kind: kind.name, resource_key: key };
  if (action === 'create' || !existing)
    return kind.create(work, state, (resource_id) => remember(deps, { ...row, resource_id, made_by_apply: true }));
  if (action === 'change') {
    const fields = differences.map(({ field }) => field);
    return kind.change(work, existing, state, fields);
  }
  if (action === 'delete') await kind.remove(work, existing);
  await deps.db.shared.change({ run: { declared: forgetDeclared(row) } });
  return undefined;
}
