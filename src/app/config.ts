import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  isProviderSetting,
  knownProviderSettings,
  type ProviderConfig,
  readProviders,
} from '../authentication/credentials/providers.ts';
import { type Brand, logLevels } from '../platform/config.ts';
import { ConfigError } from '../platform/errors.ts';
import { isLoopback, isSubnet } from '../platform/ip-address.ts';
import { limitSettings, readLimits } from '../platform/limits/limit-settings.ts';
import { displayNameProblem, editDistance } from '../platform/text.ts';
import { type MasterKeySource, parseMasterKey } from '../platform/vault.ts';

export type Config = ProviderConfig;

const ownSettings = [
  'SIGNET_BASE_URL',
  'SIGNET_HOST',
  'SIGNET_PORT',
  'SIGNET_DATA_DIR',
  'SIGNET_DATABASE_URL',
  'SIGNET_DATABASE_MAY_LOSE_COMMITS',
  'SIGNET_MASTER_KEY',
  'SIGNET_MASTER_KEY_FILE',
  'SIGNET_AUDIT_HEAD_FILE',
  'SIGNET_COOKIE_PREFIX',
  'SIGNET_WORKERS',
  'SIGNET_DRAIN_SECONDS',
  'SIGNET_TRUST_PROXY',
  'SIGNET_RATE_LIMITS',
  'SIGNET_LOG_LEVEL',
  'SIGNET_LOG_SQL',
  'SIGNET_SIGN_UP',
  'SIGNET_SELF_APPROVAL',
  'SIGNET_SMTP_URL',
  'SIGNET_MAIL_FROM',
  'SIGNET_WEBHOOK_INTERNAL',
  'SIGNET_NAME',
  'SIGNET_LOGO',
  'SIGNET_ACCENT',
] as const;
/** The names of all settings but those of providers, which the operator makes up. */
export const settings: readonly string[] = [...ownSettings, ...limitSettings.map(({ name }) => name)];
/** Beside the code, not the current folder: the command line finds the server's store from anywhere. */
const defaultDataDir = resolve(import.meta.dirname, '../../data');

type Setting = (typeof ownSettings)[number];
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Environment to configuration.
 * @throws {ConfigError} for an unknown, malformed or unsafe setting: a server that ignores it would not do what its
 * operator believes.
 */
export function readConfig(environment: Environment = process.env): Config {
  for (const name of Object.keys(environment)) {
    if (name.startsWith('SIGNET_') && !settings.includes(name) && !isProviderSetting(name)) {
      throw new ConfigError(`${name} is not a setting of Signet${suggestion(name)}`);
    }
  }
  const read = (name: Setting) => environment[name] || undefined;

  const port = readInteger('SIGNET_PORT', read('SIGNET_PORT') ?? '3000', 1, 65_535);
  const base = readBaseUrl(read('SIGNET_BASE_URL') ?? `http://localhost:${port}`);
  const secure = base.protocol === 'https:';
  const dataDir = resolve(read('SIGNET_DATA_DIR') ?? defaultDataDir);
  const databaseUrl = readDatabaseUrl(read('SIGNET_DATABASE_URL'));
  const brand = readBrand(read);
  return Object.freeze({
    baseUrl: base.origin,
    secure,
    host: read('SIGNET_HOST') ?? (isLoopback(base.hostname) ? 'localhost' : '0.0.0.0'),
    port,
    dataDir,
    databaseUrl,
    databaseMayLoseCommits:
      readChoice('SIGNET_DATABASE_MAY_LOSE_COMMITS', read('SIGNET_DATABASE_MAY_LOSE_COMMITS') ?? 'off', [
        'on',
        'off',
      ]) === 'on',
    masterKey: readMasterKeySource(read, dataDir, databaseUrl !== undefined),
    auditHeadFile: resolve(read('SIGNET_AUDIT_HEAD_FILE') ?? resolve(dataDir, 'audit-head.json')),
    cookiePrefix: readCookiePrefix(read('SIGNET_COOKIE_PREFIX'), secure),
    workers: readInteger('SIGNET_WORKERS', read('SIGNET_WORKERS') ?? '1', 1, 64),
    // On loopback there is no load balancer that has to notice.
    drainSeconds: readInteger('SIGNET_DRAIN_SECONDS', read('SIGNET_DRAIN_SECONDS') ?? (secure ? '5' : '0'), 0, 60),
    trustProxy: readTrustProxy(read('SIGNET_TRUST_PROXY')),
    rateLimits: readChoice('SIGNET_RATE_LIMITS', read('SIGNET_RATE_LIMITS') ?? 'on', ['on', 'off']) === 'on',
    limits: readLimits((name, fallback, min, max) => readInteger(name, environment[name] || fallback, min, max)),
    logLevel: readChoice('SIGNET_LOG_LEVEL', read('SIGNET_LOG_LEVEL') ?? 'info', logLevels),
    logSql: readChoice('SIGNET_LOG_SQL', read('SIGNET_LOG_SQL') ?? 'off', ['on', 'off']) === 'on',
    signUp: readChoice('SIGNET_SIGN_UP', read('SIGNET_SIGN_UP') ?? 'on', ['on', 'off']) === 'on',
    selfApproval: readChoice('SIGNET_SELF_APPROVAL', read('SIGNET_SELF_APPROVAL') ?? 'off', ['on', 'off']) === 'on',
    smtpUrl: readSmtpUrl(read('SIGNET_SMTP_URL')),
    mailFrom: readMailFrom(read('SIGNET_MAIL_FROM') ?? `${JSON.stringify(brand.name)} <no-reply@${base.hostname}>`),
    webhookInternal: readSubnets('SIGNET_WEBHOOK_INTERNAL', read('SIGNET_WEBHOOK_INTERNAL')),
    providers: readProviders(environment, (sentence) => {
      throw new ConfigError(sentence);
    }),
    brand,
  });
}

function readBrand(read: (name: Setting) => string | undefined): Brand {
  const name = read('SIGNET_NAME') ?? 'Signet';
  if (displayNameProblem(name) !== undefined || name.length > 40) {
    throw new ConfigError('SIGNET_NAME must be 1 to 40 visible characters.');
  }
  const logo = read('SIGNET_LOGO');
  if (logo !== undefined && !/\.(svg|png)$/.test(logo))
    throw new ConfigError('SIGNET_LOGO must name an .svg or .png file.');
  if (logo !== undefined && !existsSync(logo)) throw new ConfigError('SIGNET_LOGO names a file that does not exist.');
  const accent = read('SIGNET_ACCENT') ?? '#2f5d50';
  if (!/^#[0-9a-f]{6}$/i.test(accent)) throw new ConfigError('SIGNET_ACCENT must be a colour such as #2f5d50.');
  return Object.freeze({ name, logo: logo && resolve(logo), accent: accent.toLowerCase() });
}

function readSmtpUrl(value: string | undefined): string | undefined {
  if (value !== undefined && !isSmtpUrl(value)) {
    throw new ConfigError(
      'SIGNET_SMTP_URL must look like smtp://user:password@mail.example.com:587, or smtps://. Percent-encode special characters in the password.',
    );
  }
  return value;
}

function isSmtpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, pathname, search, hash, username, password } = new URL(value);
  const isDecodable = !/%(?![0-9a-f]{2})/i.test(username + password);
  const isServerAlone = hostname !== '' && /^\/?$/.test(pathname) && search === '' && hash === '';
  return /^smtps?:$/.test(protocol) && isServerAlone && isDecodable;
}

function readMailFrom(value: string): string {
  if (!/^([^\s<>@]+@[^\s<>@]+|[^<>\r\n]{0,100}<[^\s<>@]+@[^\s<>@]+>)$/.test(value)) {
    throw new ConfigError(
      'SIGNET_MAIL_FROM must be an address, or a name and an address: Example <no-reply@example.com>.',
    );
  }
  return value;
}

/** The setting that takes the fewest edits to type instead, if it takes few. */
function suggestion(name: string): string {
  const [nearest] = [...settings, ...knownProviderSettings]
    .map((setting) => ({ setting, edits: editDistance(name, setting) }))
    .sort((one, other) => one.edits - other.edits);
  return nearest && nearest.edits <= 4
    ? `; did you mean ${nearest.setting}?`
    : `. Known settings: ${[...settings, ...knownProviderSettings].join(', ')}, and SIGNET_PROVIDER_<ID>_ISSUER with its companions.`;
}

function readBaseUrl(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new ConfigError('SIGNET_BASE_URL must be an absolute http or https URL, such as https://id.example.com.');
  }
  if (url.pathname !== '/' || url.search || url.hash || url.username || url.password) {
    throw new ConfigError('SIGNET_BASE_URL must be an origin only, without path, query, fragment or user name.');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new ConfigError(
      'SIGNET_BASE_URL uses http on a host that is not localhost, so cookies and codes would cross the network unencrypted. Use https.',
    );
  }
  return url;
}

function readDatabaseUrl(value: string | undefined): string | undefined {
  if (value !== undefined && !/^postgres(ql)?:\/\/./.test(value)) {
    throw new ConfigError('SIGNET_DATABASE_URL must start with postgres://. Omit it to use the embedded SQLite.');
  }
  return value;
}

function readMasterKeySource(
  read: (name: Setting) => string | undefined,
  dataDir: string,
  onPostgres: boolean,
): MasterKeySource {
  const value = read('SIGNET_MASTER_KEY');
  const path = read('SIGNET_MASTER_KEY_FILE');
  if (value !== undefined && path !== undefined) {
    throw new ConfigError('SIGNET_MASTER_KEY and SIGNET_MASTER_KEY_FILE are both set. Set only one.');
  }
  if (value !== undefined) return { from: 'value', key: parseMasterKey('SIGNET_MASTER_KEY', value) };
  if (path !== undefined) return { from: 'file', path: resolve(path), mayCreate: false };
  if (onPostgres) {
    throw new ConfigError(
      'SIGNET_DATABASE_URL is PostgreSQL, which requires a master key of your own: set SIGNET_MASTER_KEY or SIGNET_MASTER_KEY_FILE to the same key on every node. Create one with: openssl rand -base64 32',
    );
  }
  return { from: 'file', path: resolve(dataDir, 'master.key'), mayCreate: true };
}

function readCookiePrefix(value: string | undefined, secure: boolean): string {
  const wanted = value ?? 'signet';
  // On https the prefix that no sibling domain can plant is not a choice (RFC 6265bis §4.1.3.2).
  const prefix = secure ? `__Host-${wanted.replace(/^__(host|secure)-/i, '')}` : wanted;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(prefix)) {
    throw new ConfigError('SIGNET_COOKIE_PREFIX must have at most 64 letters, digits, "_" and "-".');
  }
  if (!secure && /^__(host|secure)-/i.test(prefix)) {
    throw new ConfigError(
      'SIGNET_COOKIE_PREFIX starts with __Host- or __Secure-, which browsers accept on https only.',
    );
  }
  return prefix;
}

function readTrustProxy(value: string | undefined): false | number | string[] {
  if (value === undefined || value === 'off') return false;
  if (/^\d{1,2}$/.test(value)) return Number(value);
  const peers = value.split(',').map((peer) => peer.trim());
  if (!peers.every(isSubnet)) {
    throw new ConfigError(
      'SIGNET_TRUST_PROXY must be "off", a number of proxies, or addresses and subnets such as 10.0.0.0/8,192.168.1.7.',
    );
  }
  return peers;
}

function readSubnets(name: Setting, value: string | undefined): readonly string[] {
  const list = value === undefined ? [] : value.split(',').map((entry) => entry.trim());
  if (!list.every(isSubnet))
    throw new ConfigError(`${name} must be addresses and subnets such as 10.0.0.0/8,192.168.1.7.`);
  return list;
}

function readInteger(name: string, value: string, min: number, max: number): number {
  const number = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= min && number <= max)) {
    throw new ConfigError(`${name} must be a whole number from ${min} to ${max}.`);
  }
  return number;
}

function readChoice<Choice extends string>(name: Setting, value: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((one) => one === value);
  if (choice === undefined) throw new ConfigError(`${name} must be one of: ${choices.join(', ')}.`);
  return choice;
}
