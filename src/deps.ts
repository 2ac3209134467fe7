import type { Logger } from 'pino';
import type { ClientDirectory } from './clients/client-directory.ts';
import type { Config } from './config.ts';
import type { Db } from './db/db.ts';
import type { KeyRing } from './keys/key-ring.ts';
import type { Vault } from './vault/vault.ts';

/** Milliseconds since the Unix epoch. Handed in so that a test can move it. */
export type Clock = () => number;

/** The outside world, handed to every use-case. */
export type Deps = {
  readonly config: Config;
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Logger;
  /** Seals what the database must not be able to give away. */
  readonly vault: Vault;
  /** Signs tokens and verifies our own. */
  readonly keys: KeyRing;
  /** Registered clients, at most a second old. */
  readonly clients: ClientDirectory;
};

/** Unix seconds, the unit of every stored time. */
export const now = (deps: { clock: Clock }): number => Math.floor(deps.clock() / 1000);
