import type { Config } from '../../platform/config.ts';
import { asText, sql } from '../../platform/db/sql.ts';
import type { ClientId } from '../../platform/ids.ts';

const [before, after] = ['/developer/clients/', '/test/callback'];

/** Of the console's test of a client: a page of ours, for that client alone. `/oauth/authorize` refuses it. */
export const testRedirectUri = ({ baseUrl }: Pick<Config, 'baseUrl'>, client_id: ClientId): string =>
  `${baseUrl}${before}${client_id}${after}`;

/** A condition on `grants`: it was made by a test, and the client itself knows nothing of it. */
export const isOfTest = sql`grants.redirect_uri like ${asText(`%${before}`)} || grants.client_id || ${asText(after)}`;
