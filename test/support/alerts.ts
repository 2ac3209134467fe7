import { digest } from '../../src/platform/ids.ts';
import { plain } from './plain-sql.ts';
import type { Signet } from './signet.ts';

/** A user is asked about a token of an app that came twice. @returns the id of the alert. */
export async function raiseSomeAlert({ deps, clock }: Signet, user_id: string, client_id: string): Promise<string> {
  const alert_id = `alert_${digest(`of ${user_id}`).slice(0, 8)}${user_id.slice(12, 14)}${digest(client_id).slice(0, 12)}`;
  const at = Math.floor(clock() / 1000);
  const use = { at, not_after: null, address: '192.0.2.7', agent: 'okhttp/4.12.0', dpop: false };
  const facts = { uses: [use, { ...use, address: '198.51.100.24' }], uses_between: 0, access_tokens_until: at + 3600 };
  await plain(deps.db).run(
    `insert into security_alerts (alert_id, user_id, kind, client_id, facts, created_at, expires_at)
     values ($1, $2, 'refresh_token_replayed', $3, $4, $5, $6)`,
    [alert_id, user_id, client_id, JSON.stringify(facts), at, at + 90 * 86_400],
  );
  return alert_id;
}
