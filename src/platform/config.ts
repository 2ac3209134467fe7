import { readAsset } from './assets.ts';
import type { CellSettings } from './db/cell-settings.ts';
import type { Locale } from './i18n/translate.ts';
import type { Limits } from './limits/limit-settings.ts';
import type { MasterKeySource } from './master-key.ts';
import type { TraceSettings } from './tracing.ts';

/**
 * What an operator may set, upstream identity providers apart. Read once and handed in; nothing else reads the environment. Members of
 * which `platform/settings` says so change while the process runs, so no one keeps them.
 */
export type Config = {
  /** Issuer and base address: an origin without a trailing slash. Nothing is ever derived from a request's Host. */
  readonly baseUrl: string;
  /** The base URL is https: cookies are `Secure` and have the `__Host-` prefix. */
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** Where health and metrics are answered, besides the main port; absent: nowhere. */
  readonly operatorPort: number | undefined;
  readonly operatorHost: string;
  /** With it, metrics are read on the main port, too; absent: only on the port for operators. */
  readonly metricsToken: string | undefined;
  /** Metrics can be read: there is a port for operators, or a token. */
  readonly hasMetrics: boolean;
  readonly dataDir: string;
  /** Absent: SQLite in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** PostgreSQL may run with settings by which a crash loses confirmed changes. */
  readonly databaseMayLoseCommits: boolean;
  /** Where the rows of users are, if in several parts. */
  readonly cells?: CellSettings | undefined;
  /** For `signet move`: where to, if not by its option, and a file that says it. */
  readonly moveTo: string | undefined;
  readonly moveToFile: string | undefined;
  /** As `SIGNET_CELLS` and `SIGNET_CELL_SERVERS`, of the other store. */
  readonly moveToCells: string | undefined;
  readonly moveToCellServers: string | undefined;
  readonly masterKey: MasterKeySource;
  /** Opens what it has sealed, too, while one master key replaces another. */
  readonly otherMasterKey: MasterKeySource | undefined;
  /** Keeps the head of the audit log outside the database. */
  readonly auditHeadFile: string;
  readonly cookiePrefix: string;
  readonly workers: number;
  /** How long the listener stays open after SIGTERM, while `/readyz` fails. */
  readonly drainSeconds: number;
  /** Whose `X-Forwarded-For` is trusted: no one's, that of a number of hops, or of addresses and subnets. */
  readonly trustProxy: false | number | string[];
  readonly rateLimits: boolean;
  readonly limits: Limits;
  readonly logLevel: (typeof logLevels)[number];
  /** One line for each request. */
  readonly logRequests: boolean;
  /** Absent: the variables of OpenTelemetry name no address to send traces to. */
  readonly traces: TraceSettings | undefined;
  /** Logs the text of each SQL statement, for development. */
  readonly logSql: boolean;
  /** Whom to tell of a vulnerability: URIs, the preferred one first. */
  readonly securityContacts: readonly string[];
  readonly signUp: boolean;
  /** An administrator may approve their own clients. */
  readonly selfApproval: boolean;
  /** An unknown client_id that is an https URL is read as a metadata document. */
  readonly clientIdMetadata: boolean;
  /** Clients may register themselves (RFC 7591). */
  readonly dynamicRegistration: boolean;
  /** Administrators get a mail a day while clients wait for a review. */
  readonly reviewMails: boolean;
  /** From when every user needs a second factor. Unix seconds; absent: never. */
  readonly secondFactorFrom: number | undefined;
  /** From when administrators need a second factor. Unix seconds; absent: never. */
  readonly adminSecondFactorFrom: number | undefined;
  /** People may sign in by a code in a mail. */
  readonly mailCodes: boolean;
  /** For how many days who has lost every second factor waits for their removal; absent: an administrator removes them. */
  readonly recoveryWaitDays: number | undefined;
  /** For how many days a browser can be trusted in place of the second factor; absent: not at all. */
  readonly trustedBrowserDays: number | undefined;
  /** Absent: mail is printed to the log on loopback, and not sent elsewhere. */
  readonly smtpUrl: string | undefined;
  /** The sender of mail: an address, or `Name <address>`. */
  readonly mailFrom: string;
  /** Internal addresses and subnets that webhooks may reach; none by default. */
  readonly webhookInternal: readonly string[];
  /** What pages and mails for people are offered in; the first is for those who read none of them. */
  readonly languages: readonly Locale[];
  /** Where users ask for help: a mail address or an https URL; absent: pages name none. */
  readonly support: string | undefined;
  readonly brand: Brand;
  readonly importedSecrets: ImportedSecrets;
  /** The settings that are set, by name, and where; `store`: while the server ran. All others have their defaults. */
  readonly setFrom: Readonly<Record<string, 'environment' | 'file' | 'store'>>;
  /** Variables of Kubernetes that look like settings, and were ignored. */
  readonly serviceLinks: readonly string[];
};

/** `#rrggbb`: of a button, and of the text on it. */
/** Of a button, its text and its edge, and of links. */
type ButtonColours = { readonly button: string; readonly ink: string; readonly edge: string; readonly link: string };

export type Brand = {
  /** By which people know the service. */
  readonly name: string;
  /** A file, SVG or PNG, which we serve ourselves; absent: our own mark. */
  readonly logo: string | undefined;
  /** `#rrggbb` */
  readonly accent: string;
  /** A file of the operator's, which comes after our own stylesheet. */
  readonly stylesheet: string | undefined;
  /** Of what administrators have said, what mails show. */
  readonly inMails?: {
    readonly light: ButtonColours;
    readonly dark: ButtonColours;
    /** A PNG file. */
    readonly logo: Buffer | undefined;
    /** Beside the logo. */
    readonly isNameShown: boolean;
    /** A last line of the service's own. */
    words(locale: Locale): string | undefined;
    /** Of its terms, its privacy policy and its help, what they are called and where they are. */
    readonly links: readonly (readonly [name: 'layout.terms' | 'layout.privacy' | 'layout.help', url: string])[];
  };
  /** What the settings say, once administrators have said something else. */
  readonly inSettings?: { readonly name: string; readonly accent: string; readonly support: string | undefined };
};

/** What other products had of their own when they hashed passwords, and kept apart from the hashes. */
export type ImportedSecrets = {
  /** Devise appends it to each password. */
  readonly devisePepper?: string;
  /** Of a Firebase project. */
  readonly firebaseSignerKey?: Buffer;
};

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const version: string = JSON.parse(readAsset('../package.json')).version;
