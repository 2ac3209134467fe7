import type { Db } from '../../platform/db/db.ts';
import { integer, type RowOf, row, text } from '../../platform/db/rows.ts';
import { sql } from '../../platform/db/sql.ts';

/** The table `provider_receipts`: what came in of a provider, by kind and outcome. Times are Unix seconds. */
const ReceiptRow = row('provider_receipts', {
  provider_id: text,
  kind: text,
  outcome: text,
  last_at: integer,
  times: integer,
});
export type ReceiptRow = RowOf<typeof ReceiptRow>;

export const countReceipt = (db: Db, { provider_id, ...one }: Omit<ReceiptRow, 'times' | 'last_at'>, now: number) =>
  db.of(provider_id).run(
    sql`insert into provider_receipts ${ReceiptRow.values({ provider_id, ...one, last_at: now, times: 1 })}
        on conflict (provider_id, kind, outcome) do update
          set times = provider_receipts.times + 1, last_at = excluded.last_at`,
  );

/** The newest first. */
export const receiptsOf = (db: Db, provider_id: string) =>
  db.of(provider_id).all(
    ReceiptRow,
    sql`select ${ReceiptRow.columns} from provider_receipts where provider_id = ${provider_id}
         order by last_at desc, kind, outcome`,
  );
