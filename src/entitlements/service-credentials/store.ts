import type { Db } from '../../platform/db/db.ts';
import { exportedTable } from '../../platform/db/exported-table.ts';
import { id, integer, jsonTexts, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { ApiId, CredentialId, EventId, SecretId } from '../../platform/ids.ts';
import type { CredentialTerms, Permission, ServiceCredential, ServiceSecret } from './service-credential.ts';

const CredentialRow = row('service_credentials', {
  credential_id: id<CredentialId>(),
  name: text,
  permissions: jsonTexts<Permission>(),
  products: jsonTexts(),
  api_id: nullable(id<ApiId>()),
  addresses: jsonTexts(),
  created_at: integer,
  expires_at: nullable(integer),
  retired_at: nullable(integer),
});
const NewCredential = row('service_credentials', { ...CredentialRow.fields, event_id: id<EventId>() });

const CredentialWithSecret = row('service_credentials c left join service_secrets s', {
  ...CredentialRow.fields,
  secret_id: nullable(id<SecretId>()),
  secret_hash: nullable(text),
  secret_created_at: nullable(integer),
  secret_expires_at: nullable(integer),
  last_four: nullable(text),
  last_used_at: nullable(integer),
});

const SecretRow = row('service_secrets', {
  secret_id: id<SecretId>(),
  credential_id: id<CredentialId>(),
  secret_hash: text,
  created_at: integer,
  last_four: nullable(text),
});

const withSecrets = sql`select ${CredentialRow.columnsOf('c')}, s.secret_id, s.secret_hash,
       s.created_at as secret_created_at, s.expires_at as secret_expires_at, s.last_four, s.last_used_at
  from service_credentials c left join service_secrets s on s.credential_id = c.credential_id`;

export async function readCredential(db: Db, credential_id: string): Promise<ServiceCredential | undefined> {
  const rows = await db.shared.all(CredentialWithSecret, sql`${withSecrets} where c.credential_id = ${credential_id}`);
  return grouped(rows)[0];
}

/** A condition: the credential that a column names is active, and has the permission. @param now Unix seconds. */
export const mayNow = (credential_id: Sql, permission: Permission, now: number): Sql =>
  sql`exists (select 1 from service_credentials c where c.credential_id = ${credential_id} and c.retired_at is null
         and (c.expires_at is null or c.expires_at > ${now}) and c.permissions like ${`%"${permission}"%`})`;

/** Retired ones too, oldest first. */
export const allCredentials = async ({ db }: { db: Db }): Promise<ServiceCredential[]> =>
  grouped(await db.shared.all(CredentialWithSecret, sql`${withSecrets} order by c.created_at, c.credential_id`));

/** Of rows that each have one secret, or none. */
function grouped(rows: readonly RowOf<typeof CredentialWithSecret>[]): ServiceCredential[] {
  const found = new Map<string, RowOf<typeof CredentialRow> & { secrets: ServiceSecret[] }>();
  for (const row of rows) {
    const { secret_id, secret_hash, secret_created_at: created_at, secret_expires_at: expires_at, ...rest } = row;
    const { last_four, last_used_at, ...known } = rest;
    const credential = found.get(row.credential_id) ?? { ...known, secrets: [] };
    found.set(row.credential_id, credential);
    if (secret_id === null || secret_hash === null || created_at === null) continue;
    credential.secrets.push({ secret_id, secret_hash, created_at, expires_at, last_four, last_used_at });
  }
  return [...found.values()];
}

/** @param unlessSince changes nothing if a later use is kept. */
export const noteServiceSecretUse = (secret_id: string, at: number, unlessSince: number): Sql =>
  sql`update service_secrets set last_used_at = ${at}
       where secret_id = ${secret_id} and (last_used_at is null or last_used_at <= ${unlessSince})`;

export const insertCredential = (credential: Omit<ServiceCredential, 'secrets'>, event_id: EventId): Sql =>
  sql`insert into service_credentials ${NewCredential.values({ ...credential, event_id })}`;

export const insertServiceSecret = (secret: RowOf<typeof SecretRow>): Sql =>
  sql`insert into service_secrets ${SecretRow.values(secret)}`;

export const deleteReplacedSecrets = (credential_id: string): Sql =>
  sql`delete from service_secrets where credential_id = ${credential_id} and expires_at is not null`;

/** The current secrets end at `expires_at`, or earlier if they would have. */
export const expireSecrets = (credential_id: string, expires_at: number): Sql =>
  sql`update service_secrets set expires_at = ${expires_at}
       where credential_id = ${credential_id} and (expires_at is null or expires_at > ${expires_at})`;

/** Changes nothing if the credential is retired. @param event_id of the event that records it. */
export const updateCredential = (
  credential_id: string,
  event_id: EventId,
  to: Partial<Pick<ServiceCredential, keyof CredentialTerms | 'retired_at'>> = {},
): Sql =>
  sql`update service_credentials set ${NewCredential.set({ ...to, event_id })}
       where credential_id = ${credential_id} and retired_at is null`;

/** Retired ones too: the history of entitlements names them. */
export const exportedCredentials = exportedTable('service_credentials', {
  row: CredentialRow,
  lists: {
    secrets: {
      table: 'service_secrets',
      row: row('service_secrets', {
        ...SecretRow.pick('secret_id', 'secret_hash', 'created_at', 'last_four').fields,
        expires_at: nullable(integer),
        last_used_at: nullable(integer),
      }),
    },
  },
  follows: { columns: { event_id: text }, values: (_, { event_id }) => ({ event_id }) },
});
