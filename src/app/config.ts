import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import {
  isProviderSetting,
  knownProviderSettings,
  type ProviderSettings,
  readProviders,
} from '../authentication/credentials/providers.ts';
import { form } from '../platform/assets.ts';
import { type ImportedSecrets, logLevels, type Config as PlatformConfig } from '../platform/config.ts';
import { readCells } from '../platform/db/cell-settings.ts';
import { serversOf } from '../platform/db/postgres-address.ts';
import { ConfigError } from '../platform/errors.ts';
import { isLoopback } from '../platform/ip-address.ts';
import { limitSettings, readLimits } from '../platform/limits/limit-settings.ts';
import { type MasterKeySource, parseMasterKey } from '../platform/master-key.ts';
import { editDistance } from '../platform/text.ts';
import { readBrand } from './brand-settings.ts';
import { readLanguages } from './language-settings.ts';
import { readMailFrom, readSmtpUrl, readSupport } from './mail-settings.ts';
import { readMoveTarget } from './move-settings.ts';
import { readSubnets, readTrustProxy } from './network-settings.ts';
import { readSecurityContacts } from './security-contacts.ts';
import { withoutServiceLinks } from './service-links.ts';
import { readTraceSettings } from './trace-settings.ts';

/** All settings. */
export type Config = PlatformConfig & ProviderSettings;

const ownSettings = [
  'SIGNET_BASE_URL',
  'SIGNET_HOST',
  'SIGNET_PORT',
  'SIGNET_OPERATOR_PORT',
  'SIGNET_OPERATOR_HOST',
  'SIGNET_METRICS_TOKEN',
  'SIGNET_DATA_DIR',
  'SIGNET_DATABASE_URL',
  'SIGNET_DATABASE_MAY_LOSE_COMMITS',
  'SIGNET_CELLS',
  'SIGNET_CELL_SERVERS',
  'SIGNET_MOVE_TO',
  'SIGNET_MOVE_TO_FILE',
  'SIGNET_MOVE_TO_CELLS',
  'SIGNET_MOVE_TO_CELL_SERVERS',
  'SIGNET_MASTER_KEY',
  'SIGNET_MASTER_KEY_FILE',
  'SIGNET_OTHER_MASTER_KEY',
  'SIGNET_OTHER_MASTER_KEY_FILE',
  'SIGNET_AUDIT_HEAD_FILE',
  'SIGNET_COOKIE_PREFIX',
  'SIGNET_WORKERS',
  'SIGNET_DRAIN_SECONDS',
  'SIGNET_TRUST_PROXY',
  'SIGNET_RATE_LIMITS',
  'SIGNET_LOG_LEVEL',
  'SIGNET_LOG_REQUESTS',
  'SIGNET_LOG_SQL',
  'SIGNET_SECURITY_CONTACT',
  'SIGNET_SIGN_UP',
  'SIGNET_SELF_APPROVAL',
  'SIGNET_CLIENT_ID_METADATA',
  'SIGNET_DYNAMIC_REGISTRATION',
  'SIGNET_REVIEW_MAILS',
  'SIGNET_SECOND_FACTOR',
  'SIGNET_ADMIN_SECOND_FACTOR',
  'SIGNET_TRUSTED_BROWSER_DAYS',
  'SIGNET_RECOVERY_WAIT_DAYS',
  'SIGNET_MAIL_CODES',
  'SIGNET_DEVISE_PEPPER',
  'SIGNET_FIREBASE_SIGNER_KEY',
  'SIGNET_SMTP_URL',
  'SIGNET_MAIL_FROM',
  'SIGNET_WEBHOOK_INTERNAL',
  'SIGNET_LANGUAGES',
  'SIGNET_SUPPORT',
  'SIGNET_NAME',
  'SIGNET_LOGO',
  'SIGNET_ACCENT',
  'SIGNET_STYLESHEET',
] as const;
/** The names of all settings but those of providers, which the operator makes up. */
export const settings: readonly string[] = [...ownSettings, ...limitSettings.map(({ name }) => name)];
/**
 * The current folder does not matter: the command line finds the server's settings and store from anywhere. A clone keeps
 * them beside its code; what was installed, in the user's folders, or its settings where a service has them.
 */
function home(): string {
  try {
    return homedir();
  } catch {
    return '/'; // the user of a container may have neither a home nor a name
  }
}
const clone = resolve(import.meta.dirname, '../..');
const ofUser = (variable: string, fallback: string) => process.env[variable] || join(home(), fallback);
const [defaultDataDir, ...settingsFiles] =
  form === 'sources'
    ? [join(clone, 'data'), join(clone, '.env')]
    : [
        join(ofUser('XDG_DATA_HOME', '.local/share'), 'signet'),
        join(ofUser('XDG_CONFIG_HOME', '.config'), 'signet/signet.env'),
        '/etc/signet/signet.env',
      ];

type Setting = (typeof ownSettings)[number];
type Environment = Readonly<Record<string, string | undefined>>;

function must(holds: unknown, sentence: string): asserts holds {
  if (!holds) throw new ConfigError(sentence);
}

/**
 * Has SQLite put its temporary files beside the database: where a root is read-only, so is `/tmp`. SQLite reads its own
 * variable once, when the first file is opened.
 */
export function keepTemporaryFilesIn(dataDir: string): void {
  process.env.SQLITE_TMPDIR ??= dataDir;
}

/**
 * @param file the lines of `.env`, which Node has put into the environment.
 * @throws {ConfigError} for an unknown, malformed or unsafe setting, rather than ignore it.
 */
export function readConfig(
  given: Environment = process.env,
  file: Environment = given === process.env ? readEnvFile() : {},
): Config {
  const { environment, serviceLinks } = withoutServiceLinks(given, file);
  for (const name of Object.keys(environment)) {
    const isKnown = !name.startsWith('SIGNET_') || settings.includes(name) || isProviderSetting(name);
    if (!isKnown) throw new ConfigError(`${name} is not a setting of Signet${suggestion(name)}`);
  }
  const read = (name: Setting) => environment[name] || undefined;
  const readInteger = (name: string, fallback: number, min: number, max: number): number => {
    const text = environment[name] || String(fallback);
    const number = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    must(number >= min && number <= max, `${name} must be a whole number from ${min} to ${max}.`);
    return number;
  };
  const readChoice = <Choice extends string>(name: Setting, fallback: Choice, choices: readonly Choice[]): Choice => {
    const text = read(name) ?? fallback;
    const choice = choices.find((one) => one === text);
    must(choice, `${name} must be one of: ${choices.join(', ')}.`);
    return choice;
  };
  const isOn = (name: Setting, fallback: 'on' | 'off') => readChoice(name, fallback, ['on', 'off']) === 'on';

  const port = readInteger('SIGNET_PORT', 3000, 1, 65_535);
  const operatorPort = read('SIGNET_OPERATOR_PORT') && readInteger('SIGNET_OPERATOR_PORT', 0, 1, 65_535);
  must(operatorPort !== port, 'SIGNET_OPERATOR_PORT must differ from SIGNET_PORT.');
  const metricsToken = read('SIGNET_METRICS_TOKEN');
  must(
    metricsToken === undefined || /^[\w.~+/=-]{32,200}$/.test(metricsToken),
    'SIGNET_METRICS_TOKEN must be 32 to 200 characters as in base64. Create one with: openssl rand -base64 32',
  );
  const base = readBaseUrl(read('SIGNET_BASE_URL') ?? `http://localhost:${port}`);
  const secure = base.protocol === 'https:';
  const dataDir = resolve(read('SIGNET_DATA_DIR') ?? defaultDataDir);
  const databaseUrl = read('SIGNET_DATABASE_URL');
  if (databaseUrl !== undefined) serversOf(databaseUrl);
  const brand = readBrand(read);
  return Object.freeze({
    baseUrl: base.origin,
    secure,
    host: read('SIGNET_HOST') ?? (isLoopback(base.hostname) ? 'localhost' : '0.0.0.0'),
    port,
    operatorPort: operatorPort || undefined,
    operatorHost: read('SIGNET_OPERATOR_HOST') ?? '127.0.0.1',
    metricsToken,
    hasMetrics: operatorPort !== undefined || metricsToken !== undefined,
    dataDir,
    databaseUrl,
    databaseMayLoseCommits: isOn('SIGNET_DATABASE_MAY_LOSE_COMMITS', 'off'),
    cells: readCells(databaseUrl, read('SIGNET_CELLS'), read('SIGNET_CELL_SERVERS')),
    ...readMoveTarget(read),
    masterKey: readMasterKeySource(read, dataDir, databaseUrl !== undefined),
    otherMasterKey: readGivenKey(read, 'SIGNET_OTHER_MASTER_KEY'),
    auditHeadFile: resolve(read('SIGNET_AUDIT_HEAD_FILE') ?? resolve(dataDir, 'audit-head.json')),
    cookiePrefix: readCookiePrefix(read('SIGNET_COOKIE_PREFIX') ?? 'signet', secure),
    workers: readInteger('SIGNET_WORKERS', 1, 1, 64),
    // On loopback there is no load balancer that has to notice.
    drainSeconds: readInteger('SIGNET_DRAIN_SECONDS', secure ? 5 : 0, 0, 60),
    trustProxy: readTrustProxy(read('SIGNET_TRUST_PROXY') ?? 'off'),
    rateLimits: isOn('SIGNET_RATE_LIMITS', 'on'),
    limits: readLimits(readInteger),
    logLevel: readChoice('SIGNET_LOG_LEVEL', 'info', logLevels),
    logRequests: isOn('SIGNET_LOG_REQUESTS', 'off'),
    traces: readTraceSettings(environment),
    logSql: isOn('SIGNET_LOG_SQL', 'off'),
    securityContacts: readSecurityContacts(read('SIGNET_SECURITY_CONTACT')),
    signUp: isOn('SIGNET_SIGN_UP', 'on'),
    selfApproval: isOn('SIGNET_SELF_APPROVAL', 'off'),
    clientIdMetadata: isOn('SIGNET_CLIENT_ID_METADATA', 'off'),
    dynamicRegistration: isOn('SIGNET_DYNAMIC_REGISTRATION', 'off'),
    reviewMails: isOn('SIGNET_REVIEW_MAILS', 'on'),
    secondFactorFrom: readRequiredFrom('SIGNET_SECOND_FACTOR', read, { never: 'optional', always: 'required' }),
    adminSecondFactorFrom: readRequiredFrom('SIGNET_ADMIN_SECOND_FACTOR', read, { never: 'off', always: 'on' }),
    mailCodes: isOn('SIGNET_MAIL_CODES', 'off'),
    recoveryWaitDays:
      (read('SIGNET_RECOVERY_WAIT_DAYS') && readInteger('SIGNET_RECOVERY_WAIT_DAYS', 7, 1, 30)) || undefined,
    trustedBrowserDays:
      (read('SIGNET_TRUSTED_BROWSER_DAYS') && readInteger('SIGNET_TRUSTED_BROWSER_DAYS', 30, 1, 30)) || undefined,
    smtpUrl: readSmtpUrl(read('SIGNET_SMTP_URL')),
    mailFrom: readMailFrom(read('SIGNET_MAIL_FROM') ?? `${JSON.stringify(brand.name)} <no-reply@${base.hostname}>`),
    webhookInternal: readSubnets(
      read('SIGNET_WEBHOOK_INTERNAL'),
      'SIGNET_WEBHOOK_INTERNAL must be addresses and subnets such as 10.0.0.0/8,192.168.1.7.',
    ),
    providers: readProviders(environment, (sentence) => {
      throw new ConfigError(sentence);
    }),
    languages: readLanguages(read('SIGNET_LANGUAGES')),
    support: readSupport(read('SIGNET_SUPPORT')?.trim()),
    brand,
    importedSecrets: readImportedSecrets(read),
    setFrom: readSources(environment, file),
    serviceLinks,
  });
}

/**
 * The first of the files that exists. One that may exist where this user may not look is an error: with the defaults instead of its
 * settings, a command would use another store. Only a home may be closed to its own user, as systemd's `ProtectHome` does.
 */
export function readEnvFile(paths: readonly string[] = settingsFiles): Environment {
  for (const path of paths) {
    try {
      const text = readFileSync(path, 'utf8');
      if (form !== 'sources') process.loadEnvFile(path); // for a clone, `bin/signet` has Node do it
      return parseEnv(text);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      const isInClosedHome = path !== paths.at(-1) && !existsSync(path);
      if (isInClosedHome || ['ENOENT', 'ENOTDIR'].includes(code)) continue;
      throw new ConfigError(
        `The settings in ${path} cannot be read (${code}). Run the command as the user of the server.`,
      );
    }
  }
  return {};
}

/** A variable that was set besides wins over the line of the file. */
const readSources = (environment: Environment, file: Environment): Config['setFrom'] =>
  Object.freeze(
    Object.fromEntries(
      Object.keys(environment)
        .filter((name) => name.startsWith('SIGNET_') && environment[name])
        .map((name) => [name, file[name] === environment[name] ? 'file' : 'environment'] as const),
    ),
  );

/** @returns Unix seconds. */
function readRequiredFrom(
  name: Setting,
  read: (name: Setting) => string | undefined,
  { never, always }: { never: string; always: string },
): number | undefined {
  const text = read(name) ?? never;
  if (text === never) return undefined;
  if (text === always) return 0;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  // A day that does not exist would be another one.
  const exists = Number.isFinite(at) && new Date(at).toISOString().startsWith(text);
  must(exists, `${name} must be ${always}, ${never}, or the day from which it is required, such as 2027-03-01.`);
  return at / 1000;
}

function readImportedSecrets(read: (name: Setting) => string | undefined): ImportedSecrets {
  const signerKey = read('SIGNET_FIREBASE_SIGNER_KEY');
  must(
    signerKey === undefined || /^[A-Za-z0-9+/]{86}==$/.test(signerKey),
    "SIGNET_FIREBASE_SIGNER_KEY must be the project's base64_signer_key: 64 bytes in base64.",
  );
  const firebaseSignerKey = signerKey === undefined ? undefined : Buffer.from(signerKey, 'base64');
  return Object.freeze({ devisePepper: read('SIGNET_DEVISE_PEPPER'), firebaseSignerKey });
}

/** The setting that takes the fewest edits to type instead, if it takes few. */
function suggestion(name: string): string {
  const known = [...settings, ...knownProviderSettings];
  const [nearest] = known
    .map((setting) => ({ setting, edits: editDistance(name, setting) }))
    .sort((one, other) => one.edits - other.edits);
  return nearest && nearest.edits <= 4
    ? `; did you mean ${nearest.setting}?`
    : `. Known settings: ${known.join(', ')}, and SIGNET_PROVIDER_<ID>_ISSUER with its companions.`;
}

function readBaseUrl(value: string): URL {
  const url = URL.parse(value);
  must(
    url?.protocol === 'https:' || url?.protocol === 'http:',
    'SIGNET_BASE_URL must be an absolute http or https URL, such as https://id.example.com.',
  );
  must(
    url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password,
    'SIGNET_BASE_URL must be an origin only, without path, query, fragment or user name.',
  );
  must(
    url.protocol === 'https:' || isLoopback(url.hostname),
    'SIGNET_BASE_URL uses http on a host that is not localhost, so cookies and codes would cross the network unencrypted. Use https.',
  );
  return url;
}

function readGivenKey(
  read: (name: Setting) => string | undefined,
  name: 'SIGNET_MASTER_KEY' | 'SIGNET_OTHER_MASTER_KEY',
): MasterKeySource | undefined {
  const value = read(name);
  const path = read(`${name}_FILE`);
  must(value === undefined || path === undefined, `${name} and ${name}_FILE are both set. Set only one.`);
  if (value !== undefined) return { from: 'value', key: parseMasterKey(name, value) };
  return path === undefined
    ? undefined
    : { from: 'file', path: resolve(path), mayCreate: false, setting: `${name}_FILE` };
}

function readMasterKeySource(
  read: (name: Setting) => string | undefined,
  dataDir: string,
  onPostgres: boolean,
): MasterKeySource {
  const given = readGivenKey(read, 'SIGNET_MASTER_KEY');
  if (given) return given;
  must(
    !onPostgres,
    'SIGNET_DATABASE_URL is PostgreSQL, which requires a master key of your own: set SIGNET_MASTER_KEY or SIGNET_MASTER_KEY_FILE to the same key on every node. Create one with: openssl rand -base64 32',
  );
  return { from: 'file', path: resolve(dataDir, 'master.key'), mayCreate: true };
}

function readCookiePrefix(wanted: string, secure: boolean): string {
  // On https the prefix that no sibling domain can plant is not a choice (RFC 6265bis §4.1.3.2).
  const prefix = secure ? `__Host-${wanted.replace(/^__(host|secure)-/i, '')}` : wanted;
  must(/^[A-Za-z0-9_-]{1,64}$/.test(prefix), 'SIGNET_COOKIE_PREFIX must have at most 64 letters, digits, "_" and "-".');
  must(
    secure || !/^__(host|secure)-/i.test(prefix),
    'SIGNET_COOKIE_PREFIX starts with __Host- or __Secure-, which browsers accept on https only.',
  );
  return prefix;
}
