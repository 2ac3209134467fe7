import { applyPlan, type Done } from '../declared/apply.ts';
import { asYaml, exportConfiguration } from '../declared/export.ts';
import { Configuration, schemaOfFiles } from '../declared/format.ts';
import { type Lease, leaseApply } from '../declared/lease.ts';
import { makePlan, type Plan, type Step } from '../declared/plan.ts';
import { readFiles } from '../declared/read-files.ts';
import type { Deps } from '../oauth/deps.ts';
import { published } from '../platform/http/operation.ts';
import { type Report, refusalText, table } from '../platform/report.ts';
import { visibleText } from '../platform/text.ts';
import { originOf } from '../webhooks/terms.ts';
import { command, commandWithoutStore, type Terminal } from './command.ts';
import { requireConfirmation } from './password-prompt.ts';

const caller = { actor: 'cli' } as const;

export const schema = { ...schemaOfFiles, ...published(Configuration) };

export const declaredCommands = {
  apply: command({
    summary:
      'Make providers, clients, approved hosts, APIs, groups, webhooks, service credentials, the brand and settings what files say. Prints what would change, and on a terminal asks first. Applied again, it finds nothing to change.',
    options: {
      file: { value: 'path', help: 'a file, or a folder of files', separator: 'never', required: true, short: 'f' },
      'dry-run': { help: 'print what would change, and change nothing' },
      prune: { help: 'delete what an earlier apply has made and the files no longer have' },
      yes: { help: 'do not ask first; without a terminal, nothing is asked' },
      wait: { value: 'seconds', integer: [0, 3600], help: 'wait so long for another apply to end; 0 by default' },
    },
    async run(deps, { file, prune, wait, ...given }, terminal, json): Promise<Report> {
      const declaration = await readFiles(file);
      const plans = () => makePlan(deps, declaration, { prune, variable: terminal.variable });
      if (given['dry-run']) {
        const plan = await plans();
        return { json: { ...jsonOf(plan), applied: false }, text: `${describe(plan)}\n\nNothing was changed.` };
      }
      const lease = await leaseApply(deps, wait ?? 0);
      try {
        return await applied(deps, await plans(), { lease, terminal, yes: given.yes, json });
      } finally {
        await lease.end();
      }
    },
  }),
  'config export': command({
    summary:
      'Print what files can declare as YAML, without secrets. Applied, it changes nothing. With --json, prints JSON.',
    async run(deps) {
      const exported = await exportConfiguration(deps);
      return { json: exported, text: await asYaml(exported) };
    },
  }),
  'config schema': commandWithoutStore({
    summary: 'Print the JSON Schema of the files that signet apply reads, for editors.',
    runWithoutStore: async () => ({ json: schema, text: JSON.stringify(schema, null, 2) }),
  }),
};

type Applying = { lease: Lease; terminal: Terminal; yes: boolean; json: boolean };

async function applied(deps: Deps, plan: Plan, { lease, terminal, yes, json }: Applying): Promise<Report> {
  const text = describe(plan);
  if (plan.steps.length > 0 && !json) {
    terminal.stdout.write(`${text}\n\n`);
    if (!yes) await requireConfirmation(terminal, 'This changes the server.');
  }
  const { done, refused, overtaken } = await applyPlan(deps, caller, plan, lease);
  const secrets = done.flatMap(secretsOf);
  const left = plan.steps.length - done.length;
  const error = refused
    ? {
        at: nameOf(refused.step),
        error: refused.error.code,
        error_description: refused.error.message,
        ...refused.error.details,
      }
    : overtaken && { at: nameOf(overtaken), error: 'invalid_state', error_description: overtakenText };
  const lines = [
    plan.steps.length === 0 ? text : `${done.length} of ${plan.steps.length} changes were made.`,
    refused &&
      `${nameOf(refused.step)}: ${refusalText(refused.error)}\nMend the file and apply it again: ${left} left.`,
    overtaken && `${nameOf(overtaken)}: ${overtakenText} ${left} left.`,
    secrets.length > 0 && `${table(secrets.map(({ of, name, value }) => [of, name, value]))}`,
    secrets.some(({ name }) => name.endsWith('secret')) && 'Store the secrets now: they cannot be shown again.',
  ];
  const made = secrets.map(({ of, name, value }) => ({ of, [name]: value }));
  const result = { ...jsonOf(plan), applied: true, done: done.length, made, ...(error && { refused: error }) };
  return { json: result, text: lines.filter(Boolean).join('\n\n'), failed: error !== undefined };
}

const overtakenText = 'This apply stood still for so long that another one has begun. Apply the file again.';

const nameOf = ({ kind, key }: Step) => `${kind.name}/${key}`;

const secretsOf = ({ step, secret = {} }: Done) =>
  Object.entries(secret).map(([name, value]) => ({ of: nameOf(step), name, value }));

/** The path of a webhook is often its password. */
function shown(step: Step, field: string, value: unknown): unknown {
  if (step.kind.name !== 'webhooks' || field !== 'url' || typeof value !== 'string') return value;
  return `${originOf(value)}/...`;
}

const differencesOf = (step: Step) =>
  step.differences
    .filter(({ field }) => !(step.action === 'create' && field === 'status'))
    .map(({ field, before, after }) => ({
      field,
      before: shown(step, field, before) ?? null,
      after: shown(step, field, after) ?? null,
    }));

const jsonOf = ({ steps, unchanged }: Plan) => ({
  changes: steps.map((step) => ({
    ...{ action: step.action, kind: step.kind.name, key: step.key, name: step.name },
    ...(step.loss !== undefined && { loss: step.loss }),
    fields: differencesOf(step),
  })),
  unchanged,
});

const signs = { create: '+', change: '~', delete: '-', forget: ' ' } as const;

function describe({ steps, unchanged }: Plan): string {
  if (steps.length === 0) return `Nothing to change: ${unchanged} are as the files say.`;
  const count = (action: Step['action']) => steps.filter((step) => step.action === action).length;
  const forgotten = count('forget') > 0 ? `, ${count('forget')} to leave as they are` : '';
  return [
    ...steps.map(describeStep),
    '',
    `${count('create')} to create, ${count('change')} to change, ${count('delete')} to delete${forgotten}; ${unchanged} unchanged.`,
  ].join('\n');
}

function describeStep(step: Step): string {
  const head = `${signs[step.action]} ${nameOf(step)}  ${visibleText(step.name, 100)}`;
  if (step.action === 'delete') return step.loss === undefined ? head : `${head}  (${step.loss})`;
  if (step.action === 'forget') return `${head}  (was here before: it stays, and is no longer declared)`;
  const value = (one: unknown) => visibleText(JSON.stringify(one), 500);
  const fields = differencesOf(step).map(({ field, before, after }) =>
    field === 'members'
      ? `    ${membersText(before, after, value)}`
      : step.action === 'create'
        ? `    ${field}: ${value(after)}`
        : `    ${field}: ${value(before)} -> ${value(after)}`,
  );
  return [head, ...fields].join('\n');
}

/** Who joins and who leaves: the whole lists would hide it. */
function membersText(before: unknown, after: unknown, value: (list: unknown) => string): string {
  const [here, wanted] = [before, after].map((list) => (Array.isArray(list) ? list.map(String) : []));
  const joining = wanted?.filter((one) => !here?.includes(one)) ?? [];
  const leaving = here?.filter((one) => !wanted?.includes(one)) ?? [];
  const both = [...joining.map((one) => `+${one}`), ...leaving.map((one) => `-${one}`)];
  return `members: ${joining.length} to add, ${leaving.length} to remove ${value(both)}`;
}
