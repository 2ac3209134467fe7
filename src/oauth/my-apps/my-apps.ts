import { logoOf } from '../../clients/logos.ts';
import { homepageUrlProblem, startUrlProblem } from '../../clients/page-url.ts';
import { now } from '../../platform/clock.ts';
import { cutPage, decodeCursor } from '../../platform/db/slices.ts';
import { nullable } from '../../platform/http/operation.ts';
import { collator } from '../../platform/i18n/formats.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import type { UserId } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { rangesOf } from '../../platform/search-terms.ts';
import type { Deps } from '../deps.ts';
import { type StartableClient, startableClients } from './store.ts';

/** An app that a user may start from here. */
export const MyApp = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  logo_url: nullable(Type.String({ description: 'Of its picture, which this service has kept; anyone may read it.' })),
  start_url: Type.String({
    description:
      'Where it starts: its `initiate_login_uri` with `iss` (OpenID Connect Core section 4), or its home page, as a reviewer has approved it.',
  }),
});
export type MyApp = Static<typeof MyApp>;

/** Of those that are offered here, and as many that the user uses. Others are found by their names. */
export const mostApps = 1000;

export const longestQuery = 100;

type Asked = { query?: string | undefined; after?: string | undefined; limit: number; locale: Locale };
type Found = {
  apps: MyApp[];
  next: string | null;
  /** Whether there may be more than any page has. */
  isCut: boolean;
};

/**
 * By name, in the order of the reader's language.
 * @throws {RequestError} `invalid_request` for an `after` that is not from a page.
 */
export async function listMyApps(
  deps: Pick<Deps, 'db' | 'clock' | 'config'>,
  user_id: UserId,
  { query = '', after, limit, locale }: Asked,
): Promise<Found> {
  const place = decodeCursor('after', after);
  const ranges = rangesOf(query);
  const { offered, used } =
    query.trim() !== '' && ranges.length === 0
      ? { offered: [], used: [] }
      : await startableClients(deps.db, user_id, { ranges, limit: mostApps, now: now(deps) });
  const { compare } = collator(locale);
  const all = [...new Map([...offered, ...used].map((client) => [client.client_id, client])).values()]
    .flatMap((client) => myApp(deps.config, client))
    .sort((one, other) => compare(one.name, other.name) || (one.client_id < other.client_id ? -1 : 1));
  // Where the last one of the page before is gone, the list goes on at its place.
  const last = place === undefined ? -1 : all.findIndex(({ client_id }) => client_id === place.id);
  const start = place !== undefined && last < 0 ? place.at : last + 1;
  const places = new Map(all.map(({ client_id }, at) => [client_id, at]));
  const { rows, next } = cutPage(all.slice(start, start + limit + 1), limit, ({ client_id }) => ({
    at: places.get(client_id) ?? 0,
    id: client_id,
  }));
  return { apps: rows, next: next ?? null, isCut: Math.max(offered.length, used.length) >= mostApps };
}

function myApp(config: Deps['config'], client: StartableClient): MyApp[] {
  const { client_id, name, initiate_login_uri, homepage_url } = client;
  const url = initiate_login_uri ?? homepage_url;
  // What an earlier version or a file has brought was checked by other rules.
  const problemOf = initiate_login_uri === null ? homepageUrlProblem : startUrlProblem;
  if (url === null || problemOf(url) !== undefined) return [];
  const logo = logoOf(client);
  const start_url = initiate_login_uri === null ? url : withIssuer(url, config.baseUrl);
  return [{ client_id, name, logo_url: logo === undefined ? null : config.baseUrl + logo, start_url }];
}

/** Character for character, but for what is added: an app may compare its address. No word of who comes. */
const withIssuer = (url: string, issuer: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}${new URLSearchParams({ iss: issuer })}`;
