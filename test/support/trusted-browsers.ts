import { trustedBrowserId } from '../../src/authentication/sessions/trusted-browsers.ts';
import { digest } from '../../src/platform/ids.ts';
import { plain } from './plain-sql.ts';
import type { Signet } from './signet.ts';

/** Of a user who trusts a browser that nobody has. @returns its id. */
export async function trustSomeBrowser({ deps, clock }: Signet, user_id: string, user_agent: string | null = null) {
  const series_hash = digest(`of ${user_id}`);
  const at = Math.floor(clock() / 1000);
  await plain(deps.db).run(
    `insert into trusted_browsers (series_hash, user_id, secret_hash, created_at, last_used_at, expires_at, address, user_agent)
     values ($1, $2, 'x', $3, $3, $4, '192.0.2.7', $5)`,
    [series_hash, user_id, at, at + 30 * 86_400, user_agent],
  );
  return trustedBrowserId({ series_hash });
}
