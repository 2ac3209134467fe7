import type { Db } from '../../platform/db/db.ts';
import { id, integer, jsonTexts, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { CredentialId, EventId, SecretId } from '../../platform/ids.ts';
import type { Permission, ServiceCredential } from './service-credential.ts';

const CredentialRow = row('service_credentials', {
  credential_id: id<CredentialId>(),
  name: text,
  permissions: jsonTexts<Permission>(),
  products: jsonTexts(),
  created_at: integer,
  retired_at: nullable(integer),
});
const NewCredential = row('service_credentials', { ...CredentialRow.fields, event_id: id<EventId>() });

const CredentialWithSecret = row('service_credentials c left join service_secrets s', {
  ...CredentialRow.fields,
  secret_hash: nullable(text),
  secret_expires_at: nullable(integer),
});

const SecretRow = row('service_secrets', {
  secret_id: id<SecretId>(),
  credential_id: id<CredentialId>(),
  secret_hash: text,
  created_at: integer,
});

export async function readCredential(db: Db, credential_id: string): Promise<ServiceCredential | undefined> {
  const rows = await db.all(
    CredentialWithSecret,
    sql`select ${CredentialRow.columnsOf('c')}, s.secret_hash, s.expires_at as secret_expires_at
          from service_credentials c left join service_secrets s on s.credential_id = c.credential_id
         where c.credential_id = ${credential_id}`,
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  const { secret_hash: _, secret_expires_at: __, ...credential } = first;
  const secrets = rows.flatMap(({ secret_hash, secret_expires_at }) =>
    secret_hash === null ? [] : [{ secret_hash, expires_at: secret_expires_at }],
  );
  return { ...credential, secrets };
}

/** Retired ones too, oldest first, without secrets. */
export async function allCredentials({ db }: { db: Db }): Promise<ServiceCredential[]> {
  const rows = await db.all(
    CredentialRow,
    sql`select ${CredentialRow.columns} from service_credentials order by created_at, credential_id`,
  );
  return rows.map((credential) => ({ ...credential, secrets: [] }));
}

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
  to: Partial<Pick<ServiceCredential, 'permissions' | 'products' | 'retired_at'>> = {},
): Sql =>
  sql`update service_credentials set ${NewCredential.set({ ...to, event_id })}
       where credential_id = ${credential_id} and retired_at is null`;
