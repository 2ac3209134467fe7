import { settingPrefixOf } from '../../authentication/credentials/providers.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { Config } from '../../platform/config.ts';
import { limitSettings } from '../../platform/limits/limit-settings.ts';

/** `value`: null for what is not set; of a secret only whether it is. */
export type Setting = {
  name: string;
  value: string | null;
  source: 'default' | 'environment' | 'file' | 'store';
  is_secret: boolean;
};

export const settingGroups = [
  'server',
  'store',
  'accounts',
  'mail',
  'webhooks',
  'look',
  'providers',
  'limits',
] as const;
export type SettingGroup = (typeof settingGroups)[number];

type Reader = (config: Config) => string | number | boolean | undefined;
/** May contain a password or is one: only whether it is set leaves this file. */
const secret = 'secret';

const list = (values: readonly string[]) => values.join(',') || undefined;

/** @param from Unix seconds. */
const describeDay = (from: number | undefined, never: string, always: string) =>
  from === undefined ? never : from === 0 ? always : new Date(from * 1000).toISOString().slice(0, 10);

/** In the order of docs/configuration.md. A test compares the names with those that can be set. */
const readers: { readonly [Group in SettingGroup]?: Readonly<Record<string, Reader | typeof secret>> } = {
  server: {
    SIGNET_BASE_URL: ({ baseUrl }) => baseUrl,
    SIGNET_HOST: ({ host }) => host,
    SIGNET_PORT: ({ port }) => port,
    SIGNET_OPERATOR_PORT: ({ operatorPort }) => operatorPort,
    SIGNET_OPERATOR_HOST: ({ operatorHost }) => operatorHost,
    SIGNET_METRICS_TOKEN: secret,
    SIGNET_COOKIE_PREFIX: ({ cookiePrefix }) => cookiePrefix,
    SIGNET_WORKERS: ({ workers }) => workers,
    SIGNET_DRAIN_SECONDS: ({ drainSeconds }) => drainSeconds,
    SIGNET_TRUST_PROXY: ({ trustProxy }) =>
      trustProxy === false || typeof trustProxy === 'number' ? trustProxy : list(trustProxy),
    SIGNET_LOG_LEVEL: ({ logLevel }) => logLevel,
    SIGNET_LOG_REQUESTS: ({ logRequests }) => logRequests,
    SIGNET_LOG_SQL: ({ logSql }) => logSql,
    SIGNET_SECURITY_CONTACT: ({ securityContacts }) => list(securityContacts),
  },
  store: {
    SIGNET_DATA_DIR: ({ dataDir }) => dataDir,
    SIGNET_DATABASE_URL: secret,
    SIGNET_DATABASE_MAY_LOSE_COMMITS: ({ databaseMayLoseCommits }) => databaseMayLoseCommits,
    SIGNET_CELLS: ({ cells }) => cells?.cells.join(' '),
    SIGNET_CELL_SERVERS: secret,
    SIGNET_MOVE_TO: secret,
    SIGNET_MOVE_TO_FILE: ({ moveToFile }) => moveToFile,
    SIGNET_MOVE_TO_CELLS: ({ moveToCells }) => moveToCells,
    SIGNET_MOVE_TO_CELL_SERVERS: secret,
    SIGNET_MASTER_KEY: secret,
    SIGNET_MASTER_KEY_FILE: ({ masterKey }) => (masterKey.from === 'file' ? masterKey.path : undefined),
    SIGNET_OTHER_MASTER_KEY: secret,
    SIGNET_OTHER_MASTER_KEY_FILE: ({ otherMasterKey }) =>
      otherMasterKey?.from === 'file' ? otherMasterKey.path : undefined,
    SIGNET_AUDIT_HEAD_FILE: ({ auditHeadFile }) => auditHeadFile,
  },
  accounts: {
    SIGNET_SIGN_UP: ({ signUp }) => signUp,
    SIGNET_SELF_APPROVAL: ({ selfApproval }) => selfApproval,
    SIGNET_CLIENT_ID_METADATA: ({ clientIdMetadata }) => clientIdMetadata,
    SIGNET_DYNAMIC_REGISTRATION: ({ dynamicRegistration }) => dynamicRegistration,
    SIGNET_REVIEW_MAILS: ({ reviewMails }) => reviewMails,
    SIGNET_SECOND_FACTOR: ({ secondFactorFrom }) => describeDay(secondFactorFrom, 'optional', 'required'),
    SIGNET_ADMIN_SECOND_FACTOR: ({ adminSecondFactorFrom }) => describeDay(adminSecondFactorFrom, 'off', 'on'),
    SIGNET_RECOVERY_WAIT_DAYS: ({ recoveryWaitDays }) => recoveryWaitDays,
    SIGNET_TRUSTED_BROWSER_DAYS: ({ trustedBrowserDays }) => trustedBrowserDays,
    SIGNET_MAIL_CODES: ({ mailCodes }) => mailCodes,
    SIGNET_DEVISE_PEPPER: secret,
    SIGNET_FIREBASE_SIGNER_KEY: secret,
  },
  mail: {
    SIGNET_SMTP_URL: secret,
    SIGNET_MAIL_FROM: ({ mailFrom }) => mailFrom,
  },
  webhooks: {
    SIGNET_WEBHOOK_INTERNAL: ({ webhookInternal }) => list(webhookInternal),
  },
  look: {
    SIGNET_LANGUAGES: ({ languages }) => list(languages),
    SIGNET_SUPPORT: ({ brand, support }) => (brand.inSettings ? brand.inSettings.support : support),
    SIGNET_NAME: ({ brand }) => (brand.inSettings ?? brand).name,
    SIGNET_LOGO: ({ brand }) => brand.logo,
    SIGNET_ACCENT: ({ brand }) => (brand.inSettings ?? brand).accent,
    SIGNET_STYLESHEET: ({ brand }) => brand.stylesheet,
  },
  limits: {
    SIGNET_RATE_LIMITS: ({ rateLimits }) => rateLimits,
    ...Object.fromEntries(limitSettings.map(({ key, name }) => [name, ({ limits }: Config) => limits[key]])),
  },
};

function readSetting(config: Config, name: string, read: Reader | typeof secret): Setting {
  const value = read === secret ? undefined : read(config);
  return {
    name,
    value: value === undefined ? null : typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value),
    source: config.setFrom[name] ?? 'default',
    is_secret: read === secret,
  };
}

/** The configuration of this process, without secrets. */
export function readSettings(config: Deps['config']): { group: SettingGroup; settings: Setting[] }[] {
  const setting = (name: string, read: Reader | typeof secret) => readSetting(config, name, read);
  const providers = config.providers.flatMap((provider) => {
    const prefix = settingPrefixOf(provider);
    return [
      setting(`${prefix}_ISSUER`, () => provider.issuer),
      setting(`${prefix}_CLIENT_ID`, () => provider.client_id),
      setting(`${prefix}_CLIENT_SECRET`, secret),
      setting(`${prefix}_LABEL`, () => provider.label),
    ];
  });
  return settingGroups.map((group) => ({
    group,
    settings:
      group === 'providers'
        ? providers
        : Object.entries(readers[group] ?? {}).map(([name, read]) => setting(name, read)),
  }));
}

/** @param name of one that there is, and that is not of a provider. */
export const settingIn = (config: Config, name: string): Setting =>
  readSetting(config, name, Object.assign({}, ...Object.values(readers))[name]);
