import type { Logger } from 'pino';
import type { Witness } from '../audit/witness.ts';
import type { PasswordHasher } from '../authentication/credentials/password-hash.ts';
import type { ClientDirectory } from '../clients/client-directory.ts';
import type { ServiceCredential } from '../entitlements/service-credentials/service-credential.ts';
import type { KeyRing } from '../oauth/signing-keys/key-ring.ts';
import type { Issuances } from '../oauth/token/issuances.ts';
import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import type { FreshCache } from '../platform/fresh-cache.ts';
import type { Outbox } from '../platform/mail/outbox.ts';
import type { Look } from '../platform/pages/look.ts';
import type { Timekeeper } from '../platform/timekeeper.ts';
import type { Vault } from '../platform/vault/vault.ts';
import type { WebhookSender } from '../webhooks/webhook-sender.ts';
import type { Config } from './config.ts';

/** The outside world, handed to every use-case. */
export type Deps = {
  /** The newest place of the audit log, where whoever writes the database cannot reach. */
  readonly witness: Witness;
  /** The name of this process among those on the store, drawn anew at each start. */
  readonly node: string;
  readonly config: Config;
  readonly db: Db;
  readonly clock: Clock;
  /** Whether the clock may be believed in what cannot be taken back. */
  readonly timekeeper: Timekeeper;
  readonly log: Logger;
  /** Seals what the database must not be able to give away. */
  readonly vault: Vault;
  /** Signs tokens and verifies our own. */
  readonly keys: KeyRing;
  /** Hashes passwords, so many at once. */
  readonly passwords: PasswordHasher;
  /** Registered clients, at most a second old. */
  readonly clients: ClientDirectory;
  /** Service credentials, at most a second old. */
  readonly services: FreshCache<ServiceCredential | undefined>;
  /** Tells a lost answer of the token endpoint from a replay. */
  readonly issuances: Issuances;
  /** Mail to people. */
  readonly mail: Outbox;
  /** Posts deliveries to webhooks. */
  readonly webhookSender: WebhookSender;
  /** Name, logo, stylesheet and scripts of every page. */
  readonly look: Look;
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
