import assert from 'node:assert/strict';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { refused } from '../../test/support/refused-setting.ts';
import { scratchFolder } from '../../test/support/scratch.ts';
import { parseMasterKey } from '../platform/master-key.ts';
import { type Config, readConfig, readEnvFile } from './config.ts';
import { readLanguages } from './language-settings.ts';

const key = Buffer.alloc(32, 9);
const onPostgres = { SIGNET_DATABASE_URL: 'postgres://u:p@db.test/signet', SIGNET_MASTER_KEY: key.toString('hex') };

type Environment = Record<string, string>;

test('without any setting it serves localhost from SQLite beside the code', () => {
  const dataDir = resolve(import.meta.dirname, '../../data');
  assert.deepEqual(readConfig({ PATH: '/bin' }), {
    baseUrl: 'http://localhost:3000',
    secure: false,
    host: 'localhost',
    port: 3000,
    dataDir,
    databaseUrl: undefined,
    databaseMayLoseCommits: false,
    cells: undefined,
    moveTo: undefined,
    moveToFile: undefined,
    moveToCells: undefined,
    moveToCellServers: undefined,
    masterKey: { from: 'file', path: `${dataDir}/master.key`, mayCreate: true },
    otherMasterKey: undefined,
    auditHeadFile: `${dataDir}/audit-head.json`,
    cookiePrefix: 'signet',
    workers: 1,
    drainSeconds: 0,
    trustProxy: false,
    rateLimits: true,
    limits: {
      passwordFailures: 5,
      passwordBlockSeconds: 30,
      passwordLongestBlockSeconds: 3600,
      passwordFailuresInARow: 100,
      passwordAddressFailures: 20,
      passwordAddressSeconds: 600,
      signInsPerHour: 500,
      passwordsAtOnce: 8,
      passwordsAtOncePerAddress: 32,
      codesPerSignIn: 5,
      codesPerHour: 10,
      codesInARow: 100,
      clientSecretFailures: 20,
      registrationsPerHour: 5,
      pendingClients: 20,
      clientChangesPerHour: 30,
      outsideClientsPerAddress: 20,
      outsideClientsPerHour: 100,
      unreviewedClients: 500,
      reviewRequestsPerDay: 5,
      logoutResendsPerHour: 300,
      profileChangesPerHour: 60,
      appChangesPerHour: 120,
      revocationEventsPerHour: 500,
      securityChangesPerHour: 60,
      mailsPerMailbox: 5,
      mailsPerAddress: 20,
      mailsPerPerson: 20,
      providerFailures: 30,
      passkeyChallenges: 600,
      waitingRequests: 1000,
      unauthenticatedEventsPerHour: 1000,
      unauthenticatedEventDays: 30,
      bodyKb: 64,
      headerSeconds: 10,
      connections: 4096,
    },
    operatorPort: undefined,
    operatorHost: '127.0.0.1',
    metricsToken: undefined,
    hasMetrics: false,
    logLevel: 'info',
    logRequests: false,
    traces: undefined,
    logSql: false,
    securityContacts: [],
    signUp: true,
    selfApproval: false,
    clientIdMetadata: false,
    dynamicRegistration: false,
    reviewMails: true,
    secondFactorFrom: undefined,
    adminSecondFactorFrom: undefined,
    trustedBrowserDays: undefined,
    recoveryWaitDays: undefined,
    mailCodes: false,
    smtpUrl: undefined,
    mailFrom: '"Signet" <no-reply@localhost>',
    webhookInternal: [],
    support: undefined,
    providers: [],
    brand: { name: 'Signet', logo: undefined, accent: '#2f5d50', stylesheet: undefined },
    languages: readLanguages(undefined),
    importedSecrets: { devisePepper: undefined, firebaseSignerKey: undefined },
    setFrom: {},
    serviceLinks: [],
  } satisfies Config);
});

test('a configuration does not change once it is read', () => {
  const config = readConfig({});
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.limits));
});

test('an empty setting counts as left out', () => {
  const names = ['BASE_URL', 'HOST', 'PORT', 'DATA_DIR', 'DATABASE_URL', 'MASTER_KEY', 'MASTER_KEY_FILE'];
  const more = [
    'COOKIE_PREFIX',
    'WORKERS',
    'TRUST_PROXY',
    'RATE_LIMITS',
    'LOG_LEVEL',
    'SIGN_UP',
    'SELF_APPROVAL',
    'REVIEW_MAILS',
    'SECOND_FACTOR',
    'ADMIN_SECOND_FACTOR',
    'SMTP_URL',
    'MAIL_FROM',
    'AUDIT_HEAD_FILE',
  ];
  more.push('LANGUAGES', 'SUPPORT', 'NAME', 'LOGO', 'ACCENT', 'GOOGLE_CLIENT_ID', 'PROVIDER_ACME_ISSUER');
  assert.deepEqual(
    readConfig(Object.fromEntries([...names, ...more].map((name) => [`SIGNET_${name}`, '']))),
    readConfig({}),
  );
});

const logo = resolve(import.meta.dirname, '../platform/pages/assets/signet.svg');
const google = { SIGNET_GOOGLE_CLIENT_ID: 'g', SIGNET_GOOGLE_CLIENT_SECRET: 'hunter2' };
const googleClient = {
  promptToChoose: 'select_account',
  omitsAuthTime: true,
  client_id: 'g',
  client_secret: 'hunter2',
};
/** Nothing is known of an issuer that an operator names. */
const own = { promptToChoose: undefined, omitsAuthTime: undefined, client_id: 'c', client_secret: 'hunter2' };
const provider = (id: string, issuer: string): Environment => ({
  [`SIGNET_PROVIDER_${id}_ISSUER`]: issuer,
  [`SIGNET_PROVIDER_${id}_CLIENT_ID`]: 'c',
  [`SIGNET_PROVIDER_${id}_CLIENT_SECRET`]: 'hunter2',
});

const tracesWith = (named: object, batch: object = {}): Config['traces'] => ({
  sampler: undefined,
  samplerArgument: undefined,
  ...named,
  batch: {
    scheduledDelayMillis: undefined,
    exportTimeoutMillis: undefined,
    maxQueueSize: undefined,
    maxExportBatchSize: undefined,
    ...batch,
  },
});

const good: [Environment, Partial<Config>][] = [
  [{ SIGNET_PORT: '8080' }, { port: 8080, baseUrl: 'http://localhost:8080' }],
  [{ SIGNET_PORT: '65535' }, { port: 65_535 }],
  [{ SIGNET_DEVISE_PEPPER: 'pepper' }, { importedSecrets: { devisePepper: 'pepper', firebaseSignerKey: undefined } }],
  [
    { SIGNET_FIREBASE_SIGNER_KEY: Buffer.alloc(64, 7).toString('base64') },
    { importedSecrets: { devisePepper: undefined, firebaseSignerKey: Buffer.alloc(64, 7) } },
  ],
  [{ SIGNET_METRICS_TOKEN: 'a'.repeat(32) }, { metricsToken: 'a'.repeat(32), hasMetrics: true }],
  [
    { SIGNET_OPERATOR_PORT: '9464', SIGNET_OPERATOR_HOST: '::1' },
    { operatorPort: 9464, operatorHost: '::1', hasMetrics: true },
  ],
  [{ SIGNET_BASE_URL: 'https://id.example.com' }, { baseUrl: 'https://id.example.com', secure: true, host: '0.0.0.0' }],
  [{ SIGNET_BASE_URL: 'https://ID.Example.com:443/' }, { baseUrl: 'https://id.example.com' }],
  [{ SIGNET_BASE_URL: 'https://id.example.com' }, { cookiePrefix: '__Host-signet' }],
  [{ SIGNET_BASE_URL: 'https://id.example.com', SIGNET_HOST: '127.0.0.1' }, { host: '127.0.0.1' }],
  [{ SIGNET_BASE_URL: 'https://localhost' }, { secure: true, host: 'localhost' }],
  [{ SIGNET_BASE_URL: 'http://127.0.0.1:4000' }, { baseUrl: 'http://127.0.0.1:4000', secure: false }],
  [{ SIGNET_BASE_URL: 'http://127.1.2.3' }, { secure: false }],
  [{ SIGNET_BASE_URL: 'http://[::1]:3000' }, { baseUrl: 'http://[::1]:3000', host: 'localhost' }],
  [{ SIGNET_DATA_DIR: '/var/lib/signet' }, { dataDir: '/var/lib/signet' }],
  [{ SIGNET_DATA_DIR: 'here' }, { dataDir: resolve('here') }],
  [onPostgres, { databaseUrl: onPostgres.SIGNET_DATABASE_URL, masterKey: { from: 'value', key } }],
  ...[
    'postgresql://db',
    'postgres:///signet',
    'postgres://u:p@/signet?host=/var/run/postgresql',
    'postgres://u@%2Fvar%2Frun%2Fpostgresql/signet',
    'postgres://u:50%off@[::1]:5432,db-2.test:5433/signet?target_session_attrs=read-write&sslmode=verify-full',
  ].map((url): (typeof good)[number] => [{ ...onPostgres, SIGNET_DATABASE_URL: url }, { databaseUrl: url }]),
  [{ SIGNET_MASTER_KEY: key.toString('base64') }, { masterKey: { from: 'value', key } }],
  [
    { SIGNET_MASTER_KEY_FILE: '/run/key' },
    { masterKey: { from: 'file', path: '/run/key', mayCreate: false, setting: 'SIGNET_MASTER_KEY_FILE' } },
  ],
  [{ SIGNET_COOKIE_PREFIX: 'acme' }, { cookiePrefix: 'acme' }],
  [{ SIGNET_COOKIE_PREFIX: 'acme', SIGNET_BASE_URL: 'https://id.example.com' }, { cookiePrefix: '__Host-acme' }],
  [{ SIGNET_COOKIE_PREFIX: '__Host-acme', SIGNET_BASE_URL: 'https://id.example.com' }, { cookiePrefix: '__Host-acme' }],
  [{ SIGNET_DRAIN_SECONDS: '30' }, { drainSeconds: 30 }],
  [{ SIGNET_BASE_URL: 'https://id.example.com' }, { drainSeconds: 5 }],
  [{ SIGNET_WORKERS: '64' }, { workers: 64 }],
  [{ SIGNET_TRUST_PROXY: 'off' }, { trustProxy: false }],
  [{ SIGNET_TRUST_PROXY: '2' }, { trustProxy: 2 }],
  [
    { SIGNET_TRUST_PROXY: '10.0.0.0/8, 192.168.1.7,fd00::/8' },
    { trustProxy: ['10.0.0.0/8', '192.168.1.7', 'fd00::/8'] },
  ],
  [{ SIGNET_RATE_LIMITS: 'off' }, { rateLimits: false }],
  [{ SIGNET_SELF_APPROVAL: 'on' }, { selfApproval: true }],
  [{ SIGNET_CLIENT_ID_METADATA: 'on' }, { clientIdMetadata: true }],
  [{ SIGNET_DYNAMIC_REGISTRATION: 'on' }, { dynamicRegistration: true }],
  [{ SIGNET_REVIEW_MAILS: 'off' }, { reviewMails: false }],
  [{ SIGNET_SECOND_FACTOR: 'required' }, { secondFactorFrom: 0 }],
  [{ SIGNET_SECOND_FACTOR: '2027-03-01' }, { secondFactorFrom: 1_803_859_200 }],
  [{ SIGNET_ADMIN_SECOND_FACTOR: 'on' }, { adminSecondFactorFrom: 0 }],
  [{ SIGNET_ADMIN_SECOND_FACTOR: '2027-03-01' }, { adminSecondFactorFrom: 1_803_859_200 }],
  [{ SIGNET_MAIL_CODES: 'on' }, { mailCodes: true }],
  [{ SIGNET_RECOVERY_WAIT_DAYS: '7' }, { recoveryWaitDays: 7 }],
  [{ SIGNET_TRUSTED_BROWSER_DAYS: '30' }, { trustedBrowserDays: 30 }],
  [{ SIGNET_LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
  [{ SIGNET_LOG_REQUESTS: 'on' }, { logRequests: true }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, { traces: tracesWith({}) }],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector.example/v1/traces' }, { traces: tracesWith({}) }],
  [
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
      OTEL_BSP_SCHEDULE_DELAY: '500',
      OTEL_BSP_MAX_QUEUE_SIZE: 'many',
    },
    { traces: tracesWith({ sampler: 'traceidratio', samplerArgument: '0.1' }, { scheduledDelayMillis: 500 }) },
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_SAMPLER: 'always_on' }, { traces: undefined }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector', OTEL_SDK_DISABLED: 'TRUE' }, { traces: undefined }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' }, { traces: undefined }],
  [{ SIGNET_LOG_SQL: 'on' }, { logSql: true }],
  [{ SIGNET_SIGN_UP: 'off' }, { signUp: false }],
  [{ SIGNET_SMTP_URL: 'smtp://localhost' }, { smtpUrl: 'smtp://localhost' }],
  [{ SIGNET_SMTP_URL: 'smtps://u%40x:p%25w@mail.test:465' }, { smtpUrl: 'smtps://u%40x:p%25w@mail.test:465' }],
  [{ SIGNET_MAIL_FROM: 'id@example.com' }, { mailFrom: 'id@example.com' }],
  [{ SIGNET_MAIL_FROM: 'Example <id@example.com>' }, { mailFrom: 'Example <id@example.com>' }],
  [{ SIGNET_BASE_URL: 'https://id.example.com' }, { mailFrom: '"Signet" <no-reply@id.example.com>' }],
  [{ SIGNET_SECURITY_CONTACT: 'security@example.com' }, { securityContacts: ['mailto:security@example.com'] }],
  [
    { SIGNET_SECURITY_CONTACT: 'https://example.com/report, mailto:security@example.com' },
    { securityContacts: ['https://example.com/report', 'mailto:security@example.com'] },
  ],
  [
    { SIGNET_NAME: 'Müller & Söhne', SIGNET_ACCENT: '#AB12cd' },
    {
      brand: { name: 'Müller & Söhne', logo: undefined, accent: '#ab12cd', stylesheet: undefined },
      mailFrom: '"Müller & Söhne" <no-reply@localhost>',
    },
  ],
  ...['help@example.com', 'hilfe@bücher.example', 'https://example.com/help?from=id'].map(
    (support): (typeof good)[number] => [{ SIGNET_SUPPORT: ` ${support} ` }, { support }],
  ),
  [{ SIGNET_LANGUAGES: 'de, EN' }, { languages: ['de', 'en'] }],
  [{ SIGNET_LOGO: logo }, { brand: { name: 'Signet', logo, accent: '#2f5d50', stylesheet: undefined } }],
  [
    { ...google },
    { providers: [{ id: 'google', label: 'Google', issuer: 'https://accounts.google.com', ...googleClient }] },
  ],
  [
    { ...google, SIGNET_GOOGLE_ISSUER: 'http://localhost:9000/', SIGNET_GOOGLE_LABEL: 'Ours' },
    { providers: [{ id: 'google', label: 'Ours', issuer: 'http://localhost:9000', ...googleClient }] },
  ],
  [
    {
      ...google,
      ...provider('ZED', 'https://ID.Zed.test/realms/main/'),
      ...provider('ACME2', 'https://acme.test/'),
      SIGNET_PROVIDER_ACME2_LABEL: 'Acme Inc.',
    },
    {
      providers: [
        { id: 'google', label: 'Google', issuer: 'https://accounts.google.com', ...googleClient },
        { id: 'acme2', label: 'Acme Inc.', issuer: 'https://acme.test', ...own },
        {
          id: 'zed',
          label: 'zed',
          issuer: 'https://id.zed.test/realms/main/',
          ...own,
        },
      ],
    },
  ],
];

for (const [environment, expected] of good) {
  test(`takes ${JSON.stringify(environment)}`, () => {
    const config = readConfig(environment);
    assert.deepEqual({ ...config, ...expected }, config);
  });
}

const malformed: [string, string[], RegExp][] = [
  ['SIGNET_OPERATOR_PORT', ['0', '65536', 'abc'], /from 1 to 65535/],
  ['SIGNET_METRICS_TOKEN', ['short', `${'a'.repeat(31)} `, 'a'.repeat(201)], /32 to 200 characters/],
  ['SIGNET_FIREBASE_SIGNER_KEY', ['key', Buffer.alloc(32).toString('base64'), 'ä'.repeat(88)], /64 bytes in base64/],
  ['SIGNET_OPERATOR_PORT', ['3000'], /must differ from SIGNET_PORT/],
  ['SIGNET_PORT', ['0', '65536', '-1', '3000.5', '1e3', 'abc', ' 80', '0x50', '9'.repeat(400)], /from 1 to 65535/],
  ['SIGNET_BASE_URL', ['id.example.com', 'ftp://id.example.com', 'https://', '//x', 'javascript:1'], /absolute http/],
  [
    'SIGNET_BASE_URL',
    ['https://h/path', 'https://h?q=1', 'https://h/#f', 'https://user:hunter2@h', 'https://h//'],
    /an origin only/,
  ],
  [
    'SIGNET_BASE_URL',
    [
      'http://id.example.com',
      'http://10.0.0.1',
      'http://127.evil.test',
      'http://localhost.evil.test',
      'http://0.0.0.0',
    ],
    /unencrypted/,
  ],
  ['SIGNET_DATABASE_MAY_LOSE_COMMITS', ['yes', '1'], /on.*off/],
  ['SIGNET_CELLS', ['c0 c1'], /needs SIGNET_DATABASE_URL/],
  ['SIGNET_CELL_SERVERS', ['b=postgres://u:hunter2@b.test/signet'], /without SIGNET_CELLS/],
  ['SIGNET_DATABASE_URL', ['mysql://u:hunter2@h/db', 'postgres://', 'hunter2', '/tmp/db'], /start with postgres/],
  [
    'SIGNET_DATABASE_URL',
    [
      'postgres://u:hunter2@h:x/db',
      'postgres://u:hunt/hunter2@h/db',
      'postgres://u:hunt?hunter2@h/db',
      'postgres://u:hunter2%ff@h/db',
      'postgres://u:hunter2@h1,,h2/db',
      'postgres://u:hunter2@h1:5432,h2:x/db',
      'postgres://u:hunter2@/db?host=h1,h2',
    ],
    /must look like postgres:/,
  ],
  [
    'SIGNET_DATABASE_URL',
    ['postgres://u:hunter2@h/db?connect_timeout=3', 'postgres://h/db?sslmode=require&channel_binding=require'],
    /does not support: (connect_timeout|channel_binding)\. It supports .*sslmode/,
  ],
  [
    'SIGNET_DATABASE_URL',
    ['any', 'standby', 'prefer-standby', 'read-only', ''].map(
      (wanted) => `postgres://h/d?target_session_attrs=${wanted}`,
    ),
    /target_session_attrs=read-write or primary, or none/,
  ],
  ['SIGNET_DATABASE_URL', ['postgres://h/db?sslmode=verifyfull'], /an sslmode among disable/],
  ['SIGNET_DATABASE_URL', ['postgres://h/db?sslrootcert=/nowhere/ca.pem'], /cannot be read, with sslrootcert/],
  [
    'SIGNET_MASTER_KEY',
    ['hunter2', key.toString('hex').slice(2), `${key.toString('base64')}AAAA`, '?'.repeat(44)],
    /32/,
  ],
  ['SIGNET_COOKIE_PREFIX', ['a b', 'a;b', 'a=b', 'ä', 'x'.repeat(65), 'a\r\nb'], /letters, digits/],
  ['SIGNET_COOKIE_PREFIX', ['__Host-signet', '__host-x', '__Secure-x'], /https only/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', ['collector:4318', 'localhost', 'grpc://collector:4317', '/v1'], /URL such as http/],
  ['SIGNET_WORKERS', ['0', '65', '-1', '1.5', 'two', 'auto'], /from 1 to 64/],
  [
    'SIGNET_TRUST_PROXY',
    ['on', 'true', '-1', '10.0.0.0/33', '10.0.0.0/8/8', '::/129', '10.0.0.0/', '10.0.0.1,,', 'proxy.test', '1.5'],
    /"off", a number/,
  ],
  ['SIGNET_RECOVERY_WAIT_DAYS', ['0', '31', 'on', '-1', '1.5', '7d'], /from 1 to 30/],
  ['SIGNET_TRUSTED_BROWSER_DAYS', ['0', '31', 'on', '-1', '1.5'], /from 1 to 30/],
  ['SIGNET_RATE_LIMITS', ['true', '0', 'OFF', 'no'], /one of: on, off/],
  ['SIGNET_LOG_LEVEL', ['verbose', 'INFO', 'constructor'], /one of: fatal, error/],
  ['SIGNET_SIGN_UP', ['yes', 'true', 'ON', 'invited'], /one of: on, off/],
  [
    'SIGNET_SMTP_URL',
    [
      'mail.test',
      'http://hunter2@h',
      'smtp://',
      'smtp://u:hunter2%zz@h',
      'smtp://h/path',
      'smtp://h?x=hunter2',
      'smtp:h',
    ],
    /smtp:\/\/user:password@/,
  ],
  [
    'SIGNET_MAIL_FROM',
    ['Signet', 'a@b@c', '<a@b', 'a@b>', 'Signet a@b', 'A <a@b>, B <b@c>', 'A <a@b>\r\nBcc: hunter2@h', '@b', 'a@'],
    /an address, or a name and an address/,
  ],
  [
    'SIGNET_SECURITY_CONTACT',
    [
      'hunter2',
      'http://example.com/',
      'https://u:hunter2@example.com/',
      'a@b@c',
      'security@example.com\nContact: mailto:hunter2@example.com',
      'security@exämple.com',
      'a@b.test,',
      Array(6).fill('a@b.test').join(),
      `https://example.com/${'x'.repeat(300)}`,
    ],
    /a mail address or an https URL/,
  ],
  [
    'SIGNET_SUPPORT',
    [
      'help',
      'Help <help@example.com>',
      'a@b@c',
      'mailto:help@example.com',
      'http://example.com/help',
      'javascript:alert(1)//@x',
      'https://',
      'https://a b/',
      'https://user:hunter2@example.com/',
      'a@example.com, b@example.com',
      `https://example.com/${'x'.repeat(300)}`,
    ],
    /a mail address or an https URL/,
  ],
  ['SIGNET_NAME', [' ', 'x'.repeat(41), 'a\u202eb', 'a\nb'], /1 to 40 visible/],
  ['SIGNET_LOGO', ['logo.gif', 'logo', '/etc/passwd', 'https://example.com/'], /\.svg or \.png/],
  ['SIGNET_LOGO', ['/nowhere/logo.svg', 'https://example.com/logo.png'], /does not exist/],
  ['SIGNET_ACCENT', ['green', '#abc', '2f5d50', '#2f5d5g', 'url(x)', '#2f5d50;'], /a colour such as/],
  ['SIGNET_GOOGLE_CLIENT_ID', ['g'], /SECRET is missing, although SIGNET_GOOGLE_CLIENT_ID is set/],
  ['SIGNET_GOOGLE_CLIENT_SECRET', ['hunter2'], /ID is missing, although SIGNET_GOOGLE_CLIENT_SECRET is set/],
];

for (const [name, values, sentence] of malformed) {
  test(`${name} refuses ${JSON.stringify(values).slice(0, 100)} and says what it takes`, () => {
    for (const value of values) {
      const said = refused({ [name]: value });
      assert.match(said, sentence, value);
      assert.ok(said.startsWith(name.replace(/_(ID|SECRET)$/, '_')) && said.length < 400);
      assert.ok(!said.includes('hunter2'), 'a value may be a secret, so none is quoted');
      if (name === 'SIGNET_MASTER_KEY' || name === 'SIGNET_DATABASE_URL')
        assert.ok(!said.includes(value.slice(0, 24)) || value === 'postgres://');
    }
  });
}

test('a provider is switched on whole or not at all, and over https', () => {
  const { SIGNET_PROVIDER_ACME_ISSUER: issuer = '', ...client } = provider('ACME', 'https://acme.test');
  assert.match(refused(client), /^SIGNET_PROVIDER_ACME_ISSUER is missing/);
  assert.match(refused({ SIGNET_PROVIDER_ACME_ISSUER: issuer }), /^SIGNET_PROVIDER_ACME_CLIENT_ID is missing/);
  assert.match(refused({ SIGNET_PROVIDER_ACME_LABEL: 'Acme' }), /^SIGNET_PROVIDER_ACME_ISSUER is missing/);
  for (const wrong of [
    'acme.test',
    'http://acme.test',
    'http://127.acme.test',
    'http://10.0.0.1',
    'https://acme.test?hunter2',
    'https://acme.test/#hunter2',
    'https://u:hunter2@acme.test',
    'javascript:alert(1)',
  ]) {
    const said = refused(provider('ACME', wrong));
    assert.match(said, /^SIGNET_PROVIDER_ACME_ISSUER must be an https URL/, wrong);
    assert.doesNotMatch(said, /hunter2/);
  }
  for (const label of [' ', 'x'.repeat(41), 'a\u202eb']) {
    const said = refused({ ...provider('ACME', issuer), SIGNET_PROVIDER_ACME_LABEL: label });
    assert.match(said, /^SIGNET_PROVIDER_ACME_LABEL must be 1 to 40 visible characters/);
  }
});

test('a provider that Signet knows is set under its own name, and a malformed one is no setting', () => {
  assert.match(refused(provider('GOOGLE', 'https://x.test')), /use SIGNET_GOOGLE_ISSUER instead/);
  assert.match(refused({ SIGNET_GOOGLE_CLIENTID: 'g' }), /did you mean SIGNET_GOOGLE_CLIENT_ID\?/);
  for (const name of [
    'SIGNET_PROVIDER_acme_ISSUER',
    'SIGNET_PROVIDER_1_ISSUER',
    'SIGNET_PROVIDER_A_B_ISSUER',
    'SIGNET_PROVIDER__ISSUER',
    'SIGNET_PROVIDER_ACME_PROMPT',
    `SIGNET_PROVIDER_${'A'.repeat(21)}_ISSUER`,
  ]) {
    assert.match(refused({ [name]: 'hunter2' }), /is not a setting of Signet/, name);
  }
});

test('PostgreSQL needs a master key that its operator supplies', () => {
  const said = refused({ SIGNET_DATABASE_URL: 'postgres://u:hunter2@db.test/signet' });
  assert.match(said, /SIGNET_MASTER_KEY or SIGNET_MASTER_KEY_FILE.*openssl rand -base64 32/);
  assert.doesNotMatch(said, /hunter2/);
});

test('two master keys are one too many', () => {
  const said = refused({ SIGNET_MASTER_KEY: key.toString('base64'), SIGNET_MASTER_KEY_FILE: '/run/key' });
  assert.match(said, /both set/);
  assert.ok(!said.includes(key.toString('base64')));
});

test('an unknown setting is refused with the nearest known one', () => {
  const typos = {
    SIGNET_PROT: 'SIGNET_PORT',
    SIGNET_DATABSE_URL: 'SIGNET_DATABASE_URL',
    SIGNET_BASEURL: 'SIGNET_BASE_URL',
    SIGNET_WORKER: 'SIGNET_WORKERS',
    SIGNET_MASTERKEY: 'SIGNET_MASTER_KEY',
    SIGNET_LOGLEVEL: 'SIGNET_LOG_LEVEL',
    SIGNET_RATE_LIMIT: 'SIGNET_RATE_LIMITS',
    SIGNET_LIMIT_PASSWORD_FAILURE: 'SIGNET_LIMIT_PASSWORD_FAILURES',
  };
  for (const [typo, meant] of Object.entries(typos)) {
    const said = refused({ [typo]: 'hunter2' });
    assert.equal(said, `${typo} is not a setting of Signet; did you mean ${meant}?`);
  }
});

test('an unknown setting that resembles none is answered with all of them', () => {
  const said = refused({ SIGNET_FROBNICATION_STRATEGY: 'hunter2' });
  assert.match(
    said,
    /^SIGNET_FROBNICATION_STRATEGY is not a setting of Signet\. Known settings: SIGNET_BASE_URL, .+\.$/,
  );
  assert.doesNotMatch(said, /hunter2/);
});

test('a file of settings that may exist is never passed over', async (t) => {
  const folder = await scratchFolder('config');
  t.after(() => rmSync(folder, { recursive: true }));
  const [file, closed, missing] = [join(folder, 'signet.env'), join(folder, 'closed'), join(folder, 'missing')];
  writeFileSync(file, 'SIGNET_PORT=3001');
  symlinkSync(closed, closed); // as a closed folder, also for root: nobody can tell whether there is a file
  assert.equal(readEnvFile([missing, `${file}/below`, file]).SIGNET_PORT, '3001');
  assert.equal(readEnvFile([closed, file]).SIGNET_PORT, '3001', "a user's home may be closed to a service");
  assert.deepEqual(readEnvFile([missing, missing]), {});
  assert.throws(() => readEnvFile([missing, closed]), /cannot be read \(ELOOP\)\. Run the command as the user/);
});

const linksOf = (service: string) => ({
  [`${service}_SERVICE_HOST`]: '10.96.12.3',
  [`${service}_SERVICE_PORT`]: '3000',
  [`${service}_SERVICE_PORT_HTTP`]: '3000',
  [`${service}_PORT`]: 'tcp://10.96.12.3:3000',
  [`${service}_PORT_3000_TCP`]: 'tcp://10.96.12.3:3000',
  [`${service}_PORT_3000_TCP_PROTO`]: 'tcp',
  [`${service}_PORT_3000_TCP_PORT`]: '3000',
  [`${service}_PORT_3000_TCP_ADDR`]: 'fd00::7',
});

for (const service of ['SIGNET', 'SIGNET_POSTGRES', 'SIGNET_HTTP', 'SIGNET_OPERATOR']) {
  test(`what Kubernetes tells of a Service ${service} is no setting, and is named`, () => {
    const links = linksOf(service);
    const config = readConfig(links, { SIGNET_PORT: '8080' });
    assert.deepEqual(config, {
      ...readConfig(service === 'SIGNET' ? { SIGNET_PORT: '8080' } : {}, { SIGNET_PORT: '8080' }),
      serviceLinks: Object.keys(links),
    });
    assert.equal(readConfig({ ...links, SIGNET_PORT: '4000' }).port, 4000);
  });
}

test('a mistyped setting is refused although its name ends like that of a service link', () => {
  for (const [name, value] of [
    ['SIGNET_OPERATR_PORT', '9100'],
    ['SIGNET_PORT', 'http://10.96.12.3'],
    ['SIGNET_SERVICE_HOST', 'id.example.com'],
    ['SIGNET_SERVICE_PORT', 'many'],
    ['SIGNET_PORT_3000_TCP_PROTO', 'http'],
  ] as const) {
    assert.throws(() => readConfig({ [name]: value }), new RegExp(`^ConfigError: ${name}|${name} `), name);
  }
});

test("other programs' variables are none of its business", () => {
  assert.deepEqual(
    readConfig({ PORT: 'x', NODE_ENV: 'production', signet_port: '1', DATABASE_URL: 'y' }),
    readConfig({}),
  );
});

test('a master key is 32 bytes of base64, base64url or hex, with a line end or without', () => {
  const random = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index * 7));
  for (const text of [random.toString('base64'), random.toString('base64url'), random.toString('hex').toUpperCase()]) {
    assert.deepEqual(parseMasterKey('x', text), random);
    assert.deepEqual(parseMasterKey('x', `${text}\n`), random);
  }
});
