import { readFileSync } from 'node:fs';
import type { Limits } from './limits/limit-settings.ts';
import type { MasterKeySource } from './vault.ts';

/** What an operator may set, upstream identity providers apart. Read once, frozen, handed in; nothing else reads the environment. */
export type Config = {
  /** Issuer and base address: an origin without a trailing slash. Nothing is ever derived from a request's Host. */
  readonly baseUrl: string;
  /** True when the base URL is https: cookies are `Secure` and carry the `__Host-` prefix. */
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Absent: SQLite in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Whether PostgreSQL may run with settings by which a crash loses what it has confirmed. */
  readonly databaseMayLoseCommits: boolean;
  readonly masterKey: MasterKeySource;
  /** Keeps the newest place of the audit log outside the database. */
  readonly auditHeadFile: string;
  readonly cookiePrefix: string;
  readonly workers: number;
  /** How long the listener stays open after SIGTERM, while `/readyz` fails already. */
  readonly drainSeconds: number;
  /** Which peers may speak for a client in `X-Forwarded-For`: nobody, a number of hops, or addresses and subnets. */
  readonly trustProxy: false | number | string[];
  /** Whether failures and requests are counted at all. */
  readonly rateLimits: boolean;
  readonly limits: Limits;
  readonly logLevel: (typeof logLevels)[number];
  /** Whether the text of each SQL statement is logged, for development. */
  readonly logSql: boolean;
  /** Whether people may make accounts themselves. */
  readonly signUp: boolean;
  /** Whether an administrator may approve their own clients. */
  readonly selfApproval: boolean;
  /** Absent: mail is printed to the log on loopback, and not sent elsewhere. */
  readonly smtpUrl: string | undefined;
  /** The sender of mail: an address, or `Name <address>`. */
  readonly mailFrom: string;
  /** Internal addresses and subnets that webhooks may reach; none by default. */
  readonly webhookInternal: readonly string[];
  readonly brand: Brand;
};

/** How the pages look and what they call the service. */
export type Brand = {
  readonly name: string;
  /** A file, SVG or PNG, which we serve ourselves; absent: our own mark. */
  readonly logo: string | undefined;
  /** `#rrggbb` */
  readonly accent: string;
};

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** The version that `package.json` states. */
export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
