import type { Logger } from 'pino';
import type { Clock, Timekeeper } from './clock.ts';
import type { Config } from './config.ts';
import type { Db } from './db/db.ts';
import type { ServerHeartbeat } from './heartbeat.ts';
import type { ClientSecretLimits } from './limits/failure-limits.ts';
import type { Outbox } from './mail/outbox.ts';
import type { Branding } from './pages/branding.ts';
import type { Vault } from './vault.ts';

/** What every room is handed. A room that has more of its own adds it in its `deps.ts`; `src/app` opens all of it. */
export type Deps = {
  /** The name of this process among those on the store, drawn anew at each start. */
  readonly node: string;
  readonly config: Config;
  readonly db: Db;
  readonly clock: Clock;
  /** Whether the clock is reliable enough for changes that cannot be undone. */
  readonly timekeeper: Timekeeper;
  /** Signs of life of a server. */
  readonly heartbeat: ServerHeartbeat;
  readonly log: Logger;
  /** Limits guesses at the secrets of clients and service credentials. */
  readonly clientSecretLimits: ClientSecretLimits;
  /** Seals secrets that a reader of the database must not learn. */
  readonly vault: Vault;
  /** Mail to users. */
  readonly mail: Outbox;
  /** Name, logo, stylesheet and scripts of every page. */
  readonly branding: Branding;
};

/** Reads or writes the store at a moment. */
export type StoreDeps = Pick<Deps, 'db' | 'clock'>;

/** Counts against a limit, too. */
export type LimitDeps = Pick<Deps, 'db' | 'clock' | 'config'>;

/** Queues mail about a change, too. */
export type MailDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'mail'>;

/** Seals or opens a secret, too. */
export type SecretDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'vault'>;

/** Reads the session of a request. */
export type SessionDeps = Pick<Deps, 'db' | 'clock' | 'timekeeper' | 'config'>;
