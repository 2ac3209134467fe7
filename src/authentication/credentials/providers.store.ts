import type { Db } from '../../platform/db/db.ts';
import { exportedTable } from '../../platform/db/exported-table.ts';
import { integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { allOf, asText, oneOf, type Sql, sql } from '../../platform/db/sql.ts';
import type { ProviderSettings } from './providers.ts';

/** The table `providers`: those that administrators and files have added. Others are settings. */
const StoredProvider = row('providers', {
  provider_id: text,
  issuer: text,
  label: text,
  /** Of this service there. */
  upstream_client_id: text,
  groups_claim: nullable(text),
  scope: nullable(text),
  /** The digest of what it proves itself by when it pushes security events, and their audience. */
  signals_secret_hash: nullable(text),
  signals_audience: nullable(text),
  /** Unix seconds. */
  created_at: integer,
  disabled_at: nullable(integer),
  /** Of the picture on its button, by its content; null: none of its own. */
  logo_id: nullable(text),
});
export type StoredProvider = RowOf<typeof StoredProvider>;
const WithSecret = row('providers', { ...StoredProvider.fields, client_secret_sealed: text });
export type ProviderWithSecret = RowOf<typeof WithSecret>;

/** As many as a page to sign in may have buttons, and more. */
export const mostProviders = 50;

/** Oldest first. */
export const listProviders = (db: Db) =>
  db.shared.all(WithSecret, sql`select ${WithSecret.columns} from providers order by created_at, provider_id`);

export const findStoredProvider = (db: Db, provider_id: string) =>
  db.shared.get(WithSecret, sql`select ${WithSecret.columns} from providers where provider_id = ${provider_id}`);

/** Conflicts with one of the same id or issuer; changes nothing if there are as many as there may be. */
export const insertProvider = (one: ProviderWithSecret): Sql =>
  sql`insert into providers (provider_id, issuer, label, upstream_client_id, client_secret_sealed, groups_claim, scope,
                             signals_secret_hash, signals_audience, created_at)
      select ${one.provider_id}, ${one.issuer}, ${one.label}, ${one.upstream_client_id}, ${one.client_secret_sealed},
             cast(${one.groups_claim} as text), cast(${one.scope} as text),
             ${asText(one.signals_secret_hash)}, ${asText(one.signals_audience)}, cast(${one.created_at} as bigint)
       where (select count(*) from providers) < ${mostProviders}`;

export type ProviderTerms = Omit<
  ProviderWithSecret,
  'provider_id' | 'issuer' | 'created_at' | 'disabled_at' | 'logo_id'
>;

/** The one that was read: another one may have got its ID since, and has another issuer. */
const isIt = ({ provider_id, issuer }: Pick<StoredProvider, 'provider_id' | 'issuer'>) =>
  sql`provider_id = ${provider_id} and issuer = ${issuer}`;
type It = Parameters<typeof isIt>[0];

export const updateProvider = (it: It, to: Partial<ProviderTerms>): Sql =>
  sql`update providers set ${WithSecret.set(to)} where ${isIt(it)}`;

const Logo = row('providers', { logo_id: nullable(text), logo_type: nullable(text), logo: nullable(text) });
/** `logo` in base64. */
export type ProviderLogo = RowOf<typeof Logo>;

export const updateLogo = (it: It, to: ProviderLogo): Sql =>
  sql`update providers set ${Logo.set(to)} where ${isIt(it)}`;

const LogoType = row('providers', { media_type: text });
const LogoContent = row('providers', { content: text });

/** Of one that has it, also while it is disabled: the console shows it. */
export const findLogoType = (db: Db, logo_id: string) =>
  db.shared.get(LogoType, sql`select logo_type as media_type from providers where logo_id = ${logo_id} limit 1`);

export const findLogoContent = (db: Db, logo_id: string) =>
  db.shared.get(LogoContent, sql`select logo as content from providers where logo_id = ${logo_id} limit 1`);

export const disableProvider = (it: It, now: number): Sql =>
  sql`update providers set disabled_at = ${now} where ${isIt(it)} and disabled_at is null`;

export const enableProvider = (it: It): Sql =>
  sql`update providers set disabled_at = null where ${isIt(it)} and disabled_at is not null`;

export const deleteProvider = (it: It): Sql => sql`delete from providers where ${isIt(it)}`;

/** A condition: an identity of the issuer opens its account now. Ids of the settings hide those of the store. */
export function signsIn({ providers }: ProviderSettings, issuer: Sql): Sql {
  const issuers = [...new Set(providers.map((one) => one.issuer))];
  const isUsed = [
    sql`known.issuer = ${issuer}`,
    sql`known.disabled_at is null`,
    ...providers.map(({ id }) => sql`known.provider_id <> ${id}`),
  ];
  return sql`(${issuer} in ${oneOf(issuers)} or exists (select 1 from providers known where ${allOf(isUsed)}))`;
}

export const exportedProviders = exportedTable('providers', {
  row: row('providers', { ...StoredProvider.fields, ...Logo.fields }),
  sealed: { client_secret: 'client_secret_sealed' },
});
