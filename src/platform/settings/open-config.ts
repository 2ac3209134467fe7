import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Db } from '../db/db.ts';
import { ConfigError } from '../errors.ts';
import { changingMembers, findChangeableSetting } from './changeable-settings.ts';
import { readStoredSettings, type StoredSetting } from './store.ts';

/** Settings that are changed while the server runs. */
export type ChangedSettings = {
  /** What the store has of it; undefined: it was never changed there. */
  stored(name: string): StoredSetting | undefined;
  /** What is wrong with a value, as at the start of a server; undefined if nothing is. */
  problemOf(name: string, value: string): string | undefined;
  /** The configuration without any setting. */
  readonly defaults: Config;
  /** Takes over what any node has changed. @throws {StoreUnavailable} */
  refresh(): Promise<void>;
};

type Outside<C extends Config> = {
  db: Db;
  log: Logger;
  /** Reads a configuration from an environment with these settings alone. @throws {ConfigError} */
  read(environment: Readonly<Record<string, string>>): C;
};

/**
 * A configuration some members of which are those of now. What the environment of this process says wins.
 * @param given of the environment.
 */
export async function openConfig<C extends Config>(
  given: C,
  { db, log, read }: Outside<C>,
): Promise<{ config: C; settings: ChangedSettings }> {
  let rows: readonly StoredSetting[] = [];
  let current: Config = given;

  function withStored(): Config {
    let config: Config = given;
    for (const { name, value } of rows) {
      const setting = findChangeableSetting(name);
      if (setting === undefined || value === null || given.setFrom[name] !== undefined) continue;
      try {
        const applied = setting.apply(config, read({ [name]: value }));
        config = { ...applied, setFrom: { ...config.setFrom, [name]: 'store' } };
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        // Of another version, to which it is a value. Its default is in use here.
        log.warn({ setting: name, reason: error.message }, 'a setting of the store is not understood');
      }
    }
    return config;
  }

  async function refresh(): Promise<void> {
    const found = await readStoredSettings(db);
    if (JSON.stringify(found) === JSON.stringify(rows)) return;
    rows = found;
    current = withStored();
  }

  const config = Object.defineProperties(
    { ...given },
    Object.fromEntries(changingMembers.map((member) => [member, { enumerable: true, get: () => current[member] }])),
  );
  await refresh();
  return {
    config,
    settings: {
      stored: (name) => rows.find((one) => one.name === name),
      problemOf(name, value) {
        try {
          read({ [name]: value });
        } catch (error) {
          if (error instanceof ConfigError) return error.message;
          throw error;
        }
        return undefined;
      },
      defaults: read({}),
      refresh,
    },
  };
}
