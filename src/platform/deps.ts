import type { Logger } from 'pino';
import type { Claims } from './claims.ts';
import type { Clock, Timekeeper } from './clock.ts';
import type { Closing } from './closing.ts';
import type { Config } from './config.ts';
import type { Db } from './db/db.ts';
import type { Outbound } from './http/outbound/outbound.ts';
import type { ClientSecretLimits } from './limits/failure-limits.ts';
import type { Outbox } from './mail/sender.ts';
import type { Branding } from './pages/branding.ts';
import type { Placement } from './placement.ts';
import type { Processes } from './processes.ts';
import type { ChangedSettings } from './settings/open-config.ts';
import type { Tracer } from './tracing.ts';
import type { Vault } from './vault.ts';

/** What every room is handed. A room that has more of its own adds it in its `deps.ts`; `src/app` opens all of it. */
export type Deps = {
  /** The id of this process, new at each start. */
  readonly node: string;
  readonly config: Config;
  readonly settings: ChangedSettings;
  /** Closes what was opened. */
  readonly closing: Closing;
  readonly db: Db;
  readonly clock: Clock;
  readonly timekeeper: Timekeeper;
  readonly processes: Processes;
  readonly log: Logger;
  readonly tracer: Tracer;
  /** Requests to addresses that users name. */
  readonly outbound: Outbound;
  /** For clients and service credentials. */
  readonly clientSecretLimits: ClientSecretLimits;
  readonly vault: Vault;
  readonly placement: Placement;
  readonly claims: Claims;
  readonly mail: Outbox;
  readonly branding: Branding;
};

export type StoreDeps = Pick<Deps, 'db' | 'clock'>;
export type LimitDeps = Pick<Deps, 'db' | 'clock' | 'config'>;
/** Where accounts are made, and links to addresses that may have none. */
export type PlacementDeps = Pick<Deps, 'placement' | 'claims'>;
export type MailDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'mail'>;
export type SecretDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'vault'>;
export type SessionDeps = Pick<Deps, 'db' | 'clock' | 'timekeeper' | 'config'>;
