import type { Deps } from '../oauth/deps.ts';
import { apiVersion } from './format.ts';
import { type KindName, nameOf, type State, singleKinds } from './kind.ts';
import { kinds } from './kinds/all.ts';
import { listDeclared } from './store.ts';

export type Exported = Readonly<Record<string, unknown>>;

/** Everything that files can declare, as one would say it, without a secret. Applied, it changes nothing. */
export async function exportConfiguration(deps: Deps): Promise<Exported> {
  const rows = await listDeclared(deps.db);
  const keys = { groups: new Map<string, string>(), apis: new Map<string, string>() };
  const lists: [KindName, State][] = [];
  for (const kind of kinds) {
    const known = new Map(
      rows.filter((row) => row.kind === kind.name).map((row) => [row.resource_id, row.resource_key]),
    );
    const used = new Set(known.values());
    const entries: Record<string, State> = {};
    for (const { id, state } of await kind.list(deps, keys)) {
      const key = known.get(id) ?? freeKey(kind.keyFor?.(state) ?? nameOf(kind, state), kind.name, used);
      used.add(key);
      entries[key] = kind.write(state, key);
      if (kind.name === 'groups' || kind.name === 'apis') keys[kind.name].set(id, key);
    }
    const sorted = Object.entries(entries).sort(([one], [other]) => (one < other ? -1 : 1));
    lists.push([kind.name, singleKinds.includes(kind.name) ? (sorted[0]?.[1] ?? {}) : Object.fromEntries(sorted)]);
  }
  const inSettings = deps.config.providers.map(({ id }) => id);
  return {
    apiVersion,
    ...(inSettings.length > 0 && { required_providers: inSettings }),
    ...Object.fromEntries(lists.filter(([, entries]) => Object.keys(entries).length > 0)),
  };
}

/** Of the name, and a number if another has it. */
function freeKey(name: string, kind: string, used: ReadonlySet<string>): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 50)
    .replace(/-$/, '');
  const base = plain || kind.replaceAll('_', '-');
  for (let number = 1; ; number++) {
    const key = number === 1 ? base : `${base}-${number}`;
    if (!used.has(key)) return key;
  }
}

export async function asYaml(exported: Exported): Promise<string> {
  const { Document } = await import('yaml');
  const document = new Document(exported);
  document.commentBefore = ' yaml-language-server: $schema=./signet.schema.json';
  return document.toString({ lineWidth: 120 }).trimEnd();
}
