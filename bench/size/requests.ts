import { getRequest } from '../load.ts';
import { exchangeBytes } from './one-connection.ts';
import type { Subject } from './subject.ts';

/** Paths by what they ask for, in the same words for every store: `GET /admin/users/:user`. */
export type Requests = ReadonlyMap<string, string>;

const entrances = ['/account', '/developer', '/admin'];
/** Leads away, is no page of lists since each session has its own, or is a file of a whole list, which is measured as a job. */
const skipped = /^\/(signout|docs|openapi|assets|auth|static|oauth)|\/export\b/;

/**
 * Every page that links lead to from the account, the developer console and the administration, one of each kind, and
 * every reading operation of the API with each of its filters.
 */
export async function findRequests(subject: Subject): Promise<Requests> {
  const { address } = subject;
  const cookie = await subject.newCookie();
  const { exchange, close } = await exchangeBytes(address);
  const get = (path: string) => getRequest(address, path, { Cookie: cookie });
  const found = new Map<string, string>();
  try {
    const queue = [...entrances, ...searches.map((query) => `/admin/users?query=${query}`)];
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      const name = `GET ${templateOf(path, subject)}`;
      if (found.has(name) || skipped.test(path)) continue;
      const { status, head, body } = await exchange(get(path));
      if (status !== 200 || !/content-type: text\/html/i.test(head)) continue;
      found.set(name, path);
      queue.push(...linksIn(body.toString(), path));
    }
    const { body } = await exchange(get('/openapi.json'));
    for (const path of readingOperations(JSON.parse(body.toString()), subject)) {
      const name = `GET ${templateOf(path, subject)}`;
      const { status } = await exchange(get(path));
      if (status === 200) found.set(name, path);
    }
    return found;
  } finally {
    close();
  }
}

/** The beginning of an address, of a name, of an id; and what nobody has. */
const searches = ['user1', 'katherine', 'usr_ab', 'nobody-has-this'];

const linksIn = (html: string, from: string): string[] =>
  [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].flatMap(([, href = '']) => {
    const url = new URL(href.replaceAll('&amp;', '&'), `http://signet${from}`);
    return url.host === 'signet' ? [url.pathname + url.search] : [];
  });

/** Parameters whose values change what is looked for. */
const choices = ['query', 'state', 'status'];

/** Ids become what they name, and so do other values. */
function templateOf(path: string, { user_id, client, other, service }: Subject): string {
  const url = new URL(path, 'http://signet');
  const known = new Map([
    [user_id, ':user'],
    [client.client_id, ':client'],
    [other.client_id, ':client'],
    [service.client_id, ':service'],
  ]);
  const segments = url.pathname
    .split('/')
    .map((segment) => known.get(segment) ?? segment.replace(/^([a-z]+)_[A-Za-z0-9_-]{20,}$/, ':$1'));
  const query = [...url.searchParams].map(([name, value]) => `${name}=${choices.includes(name) ? value : '…'}`);
  return segments.join('/') + (query.length > 0 ? `?${query.join('&')}` : '');
}

type Parameter = { name: string; in: string; required?: boolean; schema: { enum?: string[] } };
type Document = { paths: Record<string, { get?: { parameters?: Parameter[] } }> };

/** @returns for each operation its path, and once more with each of its filters. */
function readingOperations({ paths }: Document, { user_id, client, service, webhook }: Subject): string[] {
  const ids: Record<string, string> = {
    user_id,
    client_id: client.client_id,
    credential_id: service.client_id,
    webhook_id: webhook.webhook_id,
  };
  const examples: Record<string, readonly string[]> = {
    query: searches,
    action: ['client.approved'],
    actor: [user_id],
    target: [user_id],
    product: ['signet'],
  };
  return Object.entries(paths).flatMap(([template, { get }]) => {
    if (!get || !template.startsWith('/v1/')) return [];
    const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    if (names.some((name) => !(name in ids))) return [];
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name]!);
    const filters = (get.parameters ?? []).filter((one) => one.in === 'query');
    if (template.endsWith('/export')) return []; // measured as a job
    return [
      path,
      ...filters.flatMap(({ name, schema }) =>
        (schema.enum ?? examples[name] ?? []).map((value) => `${path}?${name}=${encodeURIComponent(value)}`),
      ),
    ];
  });
}
