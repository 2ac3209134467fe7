const day = 86_400;
/** For which what has ended is kept, for questions about what happened. */
export const questionsSeconds = 7 * day;

/** What the secret in a column is sealed for, by the primary key of its row. */
type Purpose = (row_key: string) => string;
const sealedAs =
  (kind: string): Purpose =>
  (row_key) =>
    `${kind}:${row_key}`;

/**
 * `user`: with the user whom they are about. `each`: with whatever they report or count, so each part has its own. `key`: by their key, since
 * no user is known yet, or one part has to decide. `shared`: few, and every part has a copy. `home`: few, where the shared ones are
 * changed, and nowhere else. No statement needs rows of two parts: `test/support/sql-places.ts` reads every one.
 */
export type Place = 'user' | 'each' | 'key' | 'shared' | 'home';

/**
 * The life of a table's rows. Everything that deletes, ends or seals rows by kind reads it here, so a table that is written is one
 * entry; `tables.test.ts` compares the entries with what the migrations make.
 */
export type Table = {
  /** The columns of the primary key. */
  key: string;
  /** Where its rows are in a store of several parts. */
  place: Place;
  /**
   * Whose rows they are, by their `user_id` or `client_id`. `few` go with the row of their owner, at once. `many` are deleted in slices
   * before it. `kept` stay.
   */
  user?: 'few' | 'many' | 'kept';
  client?: 'few' | 'many' | 'kept';
  /**
   * Rows whose time in a column is over are deleted by a job of this name, some of them later than others: what was used or revoked
   * must be known for as long as the thing itself may be presented. `its room`: it knows more about the end than a column says.
   */
  expires?: { at: string; job: string; keptSeconds?: number; keptDaysLimit?: 'unauthenticatedEventDays' } | 'its room';
  /** Columns of secrets under the master key; `ends`: those that are gone within an hour, or replaced with it. */
  sealed?: Readonly<Record<string, Purpose | 'ends'>>;
  /**
   * What a restore does, since what was valid when a backup was made may have ended since. `end`: by a function of the restore.
   * @see app/restore.ts
   */
  restore: 'keep' | 'delete' | 'end';
};

export const tables = {
  active_users: { key: 'user_id', place: 'user', user: 'kept', expires: 'its room', restore: 'keep' },
  api_scopes: { key: 'name', place: 'shared', restore: 'keep' },
  apis: { key: 'api_id', place: 'shared', restore: 'keep' },
  apply_leases: { key: 'name', place: 'shared', restore: 'delete' },
  approved_hosts: { key: 'host', place: 'shared', restore: 'keep' },
  attributes: { key: 'attribute_id', place: 'shared', restore: 'keep' },
  audit_heads: {
    key: 'name',
    place: 'each',
    sealed: { sealed: (name) => (name === 'head' ? 'audit-head' : 'audit-loss-accepted') },
    restore: 'keep',
  },
  audit_log: { key: 'event_id', place: 'each', restore: 'keep' },
  authorization_requests: {
    key: 'request_id',
    place: 'key',
    client: 'many',
    expires: { at: 'expires_at', job: 'purge requests' },
    restore: 'delete',
  },
  backup_codes: { key: 'code_hash', place: 'user', user: 'few', restore: 'end' },
  brand_pictures: { key: 'picture_id', place: 'shared', restore: 'keep' },
  brand_versions: { key: 'version_key', place: 'shared', restore: 'keep' },
  cells: { key: 'name', place: 'home', restore: 'keep' },
  claims: { key: 'claim_key', place: 'key', user: 'kept', restore: 'keep' },
  client_documents: { key: 'client_id', place: 'shared', client: 'few', restore: 'keep' },
  client_failures: {
    key: 'failure_id',
    place: 'key',
    client: 'few',
    expires: { at: 'last_at', job: 'purge client failures', keptSeconds: 28 * day },
    restore: 'keep',
  },
  client_logos: { key: 'client_id, stage', place: 'shared', client: 'few', restore: 'keep' },
  client_secrets: { key: 'secret_id', place: 'shared', client: 'few', expires: 'its room', restore: 'keep' },
  client_terms: { key: 'term, client_id', place: 'shared', client: 'few', restore: 'keep' },
  clients: { key: 'client_id', place: 'shared', restore: 'keep' },
  consents: { key: 'user_id, client_id', place: 'user', user: 'many', client: 'many', restore: 'delete' },
  count_walks: { key: 'name', place: 'each', restore: 'keep' },
  counted_places: { key: 'place', place: 'each', restore: 'keep' },
  daily_counts: { key: 'client_id, kind, day', place: 'each', client: 'kept', expires: 'its room', restore: 'keep' },
  declared_resources: { key: 'kind, resource_key', place: 'shared', restore: 'keep' },
  declined_review_mails: { key: 'user_id', place: 'user', user: 'few', restore: 'keep' },
  entitlement_versions: { key: 'user_id, product, version', place: 'user', user: 'many', restore: 'keep' },
  entitlements: { key: 'user_id, product', place: 'user', user: 'many', restore: 'keep' },
  factor_recoveries: {
    key: 'user_id',
    place: 'user',
    user: 'few',
    expires: { at: 'expires_at', job: 'purge recoveries' },
    restore: 'delete',
  },
  failure_counters: {
    key: 'counter_key',
    place: 'each',
    expires: { at: 'expires_at', job: 'purge counters' },
    restore: 'keep',
  },
  form_answers: {
    key: 'form_hash',
    place: 'key',
    expires: { at: 'expires_at', job: 'purge kept forms' },
    sealed: { sealed: 'ends' },
    restore: 'delete',
  },
  grant_endings: { key: 'ending_id', place: 'user', user: 'few', client: 'few', restore: 'keep' },
  grants: { key: 'grant_id', place: 'user', user: 'many', client: 'many', expires: 'its room', restore: 'end' },
  group_changes: { key: 'event_id, part', place: 'home', restore: 'keep' },
  group_members: { key: 'group_id, user_id', place: 'user', user: 'few', restore: 'keep' },
  groups: { key: 'group_id', place: 'shared', restore: 'keep' },
  handles: {
    key: 'handle_hash',
    place: 'key',
    user: 'kept',
    expires: { at: 'released_at', job: 'purge handles', keptSeconds: 90 * day },
    restore: 'keep',
  },
  hidden_setup_steps: { key: 'user_id', place: 'user', user: 'few', restore: 'keep' },
  identities: { key: 'issuer, subject', place: 'user', user: 'few', restore: 'keep' },
  imported_records: { key: 'import_key', place: 'key', restore: 'keep' },
  imported_users: { key: 'import_key', place: 'key', user: 'kept', restore: 'keep' },
  issuing_runs: { key: 'run_id', place: 'home', expires: 'its room', restore: 'delete' },
  kept_forms: {
    key: 'session_id',
    place: 'key',
    expires: { at: 'expires_at', job: 'purge kept forms' },
    sealed: { sealed: 'ends' },
    restore: 'delete',
  },
  known_devices: {
    key: 'user_id, device_hash',
    place: 'user',
    user: 'few',
    expires: { at: 'last_seen_at', job: 'purge devices', keptSeconds: 365 * day },
    restore: 'keep',
  },
  logout_deliveries: {
    key: 'delivery_id',
    place: 'user',
    user: 'kept',
    client: 'kept',
    expires: 'its room',
    restore: 'keep',
  },
  lost_apps: {
    key: 'user_id, client_id, lost_at',
    place: 'user',
    user: 'many',
    client: 'kept',
    expires: { at: 'lost_at', job: 'purge lost apps', keptSeconds: 90 * day },
    restore: 'keep',
  },
  mail_codes: {
    key: 'token_hash',
    place: 'user',
    user: 'few',
    expires: { at: 'expires_at', job: 'purge mail codes' },
    restore: 'delete',
  },
  master_key_check: { key: 'id', place: 'shared', sealed: { sealed: 'ends' }, restore: 'keep' },
  one_time_links: {
    key: 'token_hash',
    place: 'user',
    user: 'few',
    expires: { at: 'expires_at', job: 'purge links' },
    restore: 'delete',
  },
  outgoing_mails: { key: 'mail_id', place: 'each', sealed: { message_sealed: sealedAs('mail') }, restore: 'delete' },
  passkeys: { key: 'credential_id', place: 'user', user: 'few', restore: 'keep' },
  passwords: { key: 'user_id', place: 'user', user: 'few', restore: 'keep' },
  placement_keys: { key: 'name', place: 'shared', sealed: { sealed: sealedAs('placement-key') }, restore: 'keep' },
  provider_receipts: {
    key: 'provider_id, kind, outcome',
    place: 'key',
    expires: { at: 'last_at', job: 'purge provider receipts', keptSeconds: 90 * day },
    restore: 'keep',
  },
  providers: {
    key: 'provider_id',
    place: 'shared',
    sealed: { client_secret_sealed: sealedAs('provider') },
    restore: 'keep',
  },
  // A sign-in that has begun with one is answered within ten minutes.
  pushed_requests: {
    key: 'pushed_id',
    place: 'key',
    client: 'many',
    expires: { at: 'expires_at', job: 'purge requests', keptSeconds: 900 },
    restore: 'delete',
  },
  refused_addresses: {
    key: 'address_hash',
    place: 'key',
    expires: { at: 'last_at', job: 'purge refused addresses', keptSeconds: 30 * day },
    restore: 'keep',
  },
  // Two years, too long for an owner to wait out.
  remembered_suspensions: {
    key: 'client_id',
    place: 'shared',
    client: 'kept',
    expires: { at: 'deleted_at', job: 'purge recorded suspensions', keptSeconds: 730 * day },
    restore: 'keep',
  },
  restores: { key: 'restore_id', place: 'shared', restore: 'keep' },
  retired_master_keys: {
    key: 'key_id',
    place: 'shared',
    sealed: { sealed: sealedAs('retired-master-key') },
    restore: 'keep',
  },
  retired_signing_keys: { key: 'kid', place: 'shared', expires: 'its room', restore: 'keep' },
  revoked_access_tokens: {
    key: 'jti',
    place: 'user',
    expires: { at: 'expires_at', job: 'purge revoked tokens' },
    restore: 'keep',
  },
  scim_users: { key: 'user_id', place: 'user', user: 'few', restore: 'keep' },
  server_heartbeat: { key: 'name', place: 'home', restore: 'keep' },
  security_alerts: {
    key: 'alert_id',
    place: 'user',
    user: 'few',
    client: 'kept',
    expires: { at: 'expires_at', job: 'purge security alerts' },
    restore: 'keep',
  },
  // One that has expired stays in the list, for the administrators who made it.
  service_credentials: { key: 'credential_id', place: 'shared', expires: 'its room', restore: 'keep' },
  service_secrets: { key: 'secret_id', place: 'shared', expires: 'its room', restore: 'keep' },
  sessions: {
    key: 'session_id',
    place: 'user',
    user: 'many',
    expires: { at: 'expires_at', job: 'purge sessions', keptSeconds: questionsSeconds },
    restore: 'end',
  },
  sign_in_attempts: {
    key: 'attempt_hash',
    place: 'user',
    user: 'few',
    expires: { at: 'expires_at', job: 'purge pending sign-ins' },
    restore: 'delete',
  },
  settings: { key: 'name', place: 'shared', restore: 'keep' },
  signing_keys: {
    key: 'kid',
    place: 'shared',
    sealed: { private_key_sealed: sealedAs('signing-key') },
    restore: 'end',
  },
  spent_tokens: {
    key: 'token_hash',
    place: 'user',
    expires: { at: 'expires_at', job: 'purge links' },
    restore: 'keep',
  },
  signal_deliveries: {
    key: 'delivery_id',
    place: 'each',
    user: 'kept',
    expires: 'its room',
    restore: 'keep',
  },
  signal_exclusions: { key: 'user_id, stream_id', place: 'user', user: 'few', restore: 'keep' },
  signal_leavings: {
    key: 'user_id, client_id',
    place: 'user',
    user: 'kept',
    client: 'kept',
    expires: { at: 'counts_until', job: 'purge signal leavings', keptSeconds: 30 * day },
    restore: 'keep',
  },
  signal_streams: {
    key: 'stream_id',
    place: 'shared',
    client: 'kept',
    sealed: { authorization_sealed: sealedAs('signal_stream') },
    restore: 'keep',
  },
  totp: {
    key: 'user_id',
    place: 'user',
    user: 'few',
    sealed: { secret_sealed: sealedAs('totp'), pending_secret_sealed: sealedAs('totp') },
    restore: 'end',
  },
  trusted_browsers: {
    key: 'series_hash',
    place: 'user',
    user: 'few',
    expires: { at: 'expires_at', job: 'purge trusted browsers' },
    restore: 'delete',
  },
  unauthenticated_events: {
    key: 'event_key',
    place: 'key',
    expires: {
      at: 'hour',
      job: 'purge unauthenticated events',
      keptDaysLimit: 'unauthenticatedEventDays',
    },
    restore: 'keep',
  },
  user_pictures: { key: 'picture_id', place: 'user', user: 'few', restore: 'keep' },
  user_terms: { key: 'term, user_id, field', place: 'user', user: 'few', restore: 'keep' },
  users: { key: 'user_id', place: 'user', restore: 'keep' },
  webhook_deliveries: { key: 'delivery_id', place: 'each', expires: 'its room', restore: 'keep' },
  webhooks: {
    key: 'webhook_id',
    place: 'shared',
    sealed: { secret_sealed: sealedAs('webhook'), previous_secret_sealed: sealedAs('webhook') },
    restore: 'keep',
  },
} as const satisfies Readonly<Record<string, Table>>;

export type TableName = keyof typeof tables;

/** By name, for those who read a part of each. */
export const allTables: readonly (readonly [TableName, Table])[] = Object.entries(tables) as [TableName, Table][];

/** Tables of which an owner may have any number of rows. */
export const tablesWithMany = (owner: 'user' | 'client'): readonly TableName[] =>
  allTables.flatMap(([name, table]) => (table[owner] === 'many' ? [name] : []));

type Entries = typeof tables;
type ByColumn<Entry> = Entry extends { expires: { job: infer Job } } ? Job : never;
/** The jobs that delete what has expired by a column. */
export type ExpiryJob = { [Name in TableName]: ByColumn<Entries[Name]> }[TableName];

export const expiringTables = allTables.flatMap(([name, { expires }]) =>
  expires === undefined || expires === 'its room' ? [] : [{ name, ...expires, job: expires.job as ExpiryJob }],
);
