import { succeed } from './command-line.ts';
import type { Settings } from './server-process.ts';

type Setting = { name: string; value: string | null; source: string; is_secret: boolean };

/** All settings, as `signet config` lists them. */
export async function listedSettings(env: Settings): Promise<Setting[]> {
  const { groups } = await succeed(['config'], env);
  return (groups as { settings: Setting[] }[]).flatMap(({ settings }) => settings);
}

/** Those that are in effect because they were changed while a server ran. */
export async function changedSettings(env: Settings): Promise<Record<string, unknown>> {
  const stored = (await listedSettings(env)).filter(({ source }) => source === 'store');
  return Object.fromEntries(stored.map(({ name, value }) => [name, value]));
}
