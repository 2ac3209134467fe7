import type { Condition } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';
import type { ServiceCredential } from './service-credential.ts';

type Row = Omit<ServiceCredential, 'permissions' | 'products' | 'secrets'> & { permissions: string; products: string };
type RowWithSecret = Row & { secret_hash: string | null; secret_expires_at: number | null };

const columns = 'c.credential_id, c.name, c.permissions, c.products, c.created_at, c.retired_at';

const credentialOf = (row: Row, secrets: ServiceCredential['secrets']): ServiceCredential => ({
  credential_id: row.credential_id,
  name: row.name,
  permissions: JSON.parse(row.permissions),
  products: JSON.parse(row.products),
  created_at: row.created_at,
  retired_at: row.retired_at,
  secrets,
});

/** With its secrets, in one read. */
export async function readCredential(db: Db, credential_id: string): Promise<ServiceCredential | undefined> {
  const rows = await db.all<RowWithSecret>(
    `select ${columns}, s.secret_hash, s.expires_at as secret_expires_at
       from service_credentials c left join service_secrets s on s.credential_id = c.credential_id
      where c.credential_id = $1`,
    [credential_id],
  );
  const [first] = rows;
  const secrets = rows.flatMap(({ secret_hash, secret_expires_at }) =>
    secret_hash === null ? [] : [{ secret_hash, expires_at: secret_expires_at }],
  );
  return first && credentialOf(first, secrets);
}

/** Oldest first, without secrets. */
export async function listCredentials(db: Db): Promise<ServiceCredential[]> {
  const rows = await db.all<Row>(`select ${columns} from service_credentials c order by c.created_at, c.credential_id`);
  return rows.map((row) => credentialOf(row, []));
}

export const insertCredential = (credential: Omit<ServiceCredential, 'secrets'>, event_id: string): Statement => ({
  sql: `insert into service_credentials (credential_id, name, permissions, products, event_id, created_at)
        values ($1, $2, $3, $4, $5, $6)`,
  params: [
    credential.credential_id,
    credential.name,
    JSON.stringify(credential.permissions),
    JSON.stringify(credential.products),
    event_id,
    credential.created_at,
  ],
});

type NewSecret = { secret_id: string; credential_id: string; secret_hash: string };

/** Only for a credential that this event has just changed. */
export const insertServiceSecret = (secret: NewSecret, event_id: string, now: number): Statement => ({
  sql: `insert into service_secrets (secret_id, credential_id, secret_hash, created_at)
        select $1, c.credential_id, $3, cast($5 as bigint) from service_credentials c
         where c.credential_id = $2 and c.event_id = $4`,
  params: [secret.secret_id, secret.credential_id, secret.secret_hash, event_id, now],
});

/** All that have been replaced already go, whether they have ended or not. Only for a credential that this event changes. */
export const deleteReplacedSecrets = (credential_id: string, event_id: string): Statement => ({
  sql: `delete from service_secrets where credential_id = $1 and expires_at is not null
         and exists (select 1 from service_credentials where credential_id = $1 and event_id = $2)`,
  params: [credential_id, event_id],
});

/** The secrets of before end at `expires_at`, or when they would have ended anyway. */
export const expireOlderSecrets = (credential_id: string, newest: string, expires_at: number): Statement => ({
  sql: `update service_secrets set expires_at = $3
         where credential_id = $1 and secret_id <> $2 and (expires_at is null or expires_at > $3)`,
  params: [credential_id, newest, expires_at],
});

/** Marks an unretired credential with the event that changes it. */
export const touchCredential = (credential_id: string, event_id: string): Statement => ({
  sql: 'update service_credentials set event_id = $2 where credential_id = $1 and retired_at is null',
  params: [credential_id, event_id],
});

export const restrictCredential = (
  credential_id: string,
  to: Pick<ServiceCredential, 'permissions' | 'products'>,
  event_id: string,
): Statement => ({
  sql: `update service_credentials set permissions = $2, products = $3, event_id = $4
         where credential_id = $1 and retired_at is null`,
  params: [credential_id, JSON.stringify(to.permissions), JSON.stringify(to.products), event_id],
});

export const retireCredential = (credential_id: string, event_id: string, now: number): Statement => ({
  sql: `update service_credentials set retired_at = $3, event_id = $2
         where credential_id = $1 and retired_at is null`,
  params: [credential_id, event_id, now],
});

/** For an audit event's `onlyIf`: the credential is what this event made of it. */
export const credentialCarries =
  (credential_id: string) =>
  (event_id: string): Condition => ({
    sql: 'exists (select 1 from service_credentials where credential_id = $1 and event_id = $2)',
    params: [credential_id, event_id],
  });
