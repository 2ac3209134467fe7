import { wasEverIdentifier } from '../../apis/manage-api.ts';
import { now } from '../../platform/clock.ts';
import type { Deps as PlatformDeps } from '../../platform/deps.ts';
import { RequestError, rateLimited } from '../../platform/errors.ts';
import { fetchJson } from '../../platform/http/outbound/fetch-json.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { addressLimit } from '../../platform/limits/failure-limits.ts';
import { type TtlCache, ttlCache } from '../../platform/ttl-cache.ts';
import { type Client, pick, reviewedFields } from '../client.ts';
import type { Deps } from '../deps.ts';
import { hostOfMetadata, isMetadataUrl } from '../metadata-url.ts';
import { type ApprovedHost, readHost } from './approved-hosts.store.ts';
import { saveDocument } from './documents.store.ts';
import type { MetadataDocuments } from './documents.ts';
import { freshSeconds } from './freshness.ts';
import { readMetadata } from './read-metadata.ts';
import { type ReadDocument, refreshDocument } from './refresh-document.ts';
import { registerFromOutside } from './register-from-outside.ts';

/** The draft recommends 5 KB; keys of a client are longer. */
const maxBytes = 16 * 1024;
/**
 * Documents that are read at once: an unauthenticated request names the address, and each may take ten seconds. Unknown ones and
 * those of hosts and clients that are known here have places of their own.
 */
const atOnce = { unknown: 8, known: 8 };
const atOnceOfHost = 2;
/** Unknown documents that one process asks for in a minute. */
const perMinute = 60;
/** Seconds until a document that could not be used is asked for again. */
const pause = 60;
/** Of client_ids and addresses; beyond it the oldest is forgotten, which costs one request more. */
const maxRemembered = 5000;

type Queue = keyof typeof atOnce;

export function openMetadataDocuments(
  deps: Pick<PlatformDeps, 'outbound' | 'db' | 'clock' | 'config' | 'log'> &
    Pick<Deps, 'apis' | 'attributes' | 'clients' | 'scopes'>,
): MetadataDocuments {
  const isOn = deps.config.clientIdMetadata;
  const hosts: TtlCache<ApprovedHost | undefined> = ttlCache('approved hosts', deps.clock, (host) =>
    readHost(deps.db, host),
  );
  const reading = new Map<string, { queue: Queue; host: string; client: Promise<Client> }>();
  const refreshing = new Set<Promise<void>>();
  /** By client_id and by address: why nothing is asked for, and until when. */
  const refused = new Map<string, { until: number; error: RequestError }>();
  const refreshAt = new Map<string, number>();
  let minute = { startedAt: 0, begun: 0 };

  const limit = { name: 'outside-address', limit: deps.config.limits.outsideClientsPerAddress, windowSeconds: 3600 };
  const ofAddress = addressLimit(deps, limit);

  function remember<Value>(map: Map<string, Value>, key: string, value: Value) {
    map.delete(key); // a key that is set again would keep its place in the order
    map.set(key, value);
    if (map.size > maxRemembered) map.delete(map.keys().next().value!);
  }

  function throwIfRefused(key: string) {
    const known = refused.get(key);
    if (known && now(deps) < known.until && known.until - now(deps) <= 3600) throw known.error;
    refused.delete(key);
  }

  /** @throws {RequestError} `rate_limited` where too much is being read, in memory alone. */
  function requireRoom(queue: Queue, host: string) {
    const busy = [...reading.values()];
    const isFull =
      busy.filter((one) => one.queue === queue).length >= atOnce[queue] ||
      busy.filter((one) => one.host === host).length >= atOnceOfHost;
    if (isFull) throw rateLimited(2);
    if (queue === 'known' || !deps.config.rateLimits) return;
    const age = now(deps) - minute.startedAt;
    if (age < 0 || age >= 60) minute = { startedAt: now(deps), begun: 0 };
    if (minute.begun >= perMinute) throw rateLimited(60 - Math.max(0, age));
    minute.begun += 1;
  }

  /** @throws {RequestError} why it cannot be used, for the developer of the client. */
  async function read(client_id: string): Promise<ReadDocument> {
    const fetched = await fetchJson(deps, { url: client_id, accept: 'application/json', maxBytes });
    if ('problem' in fetched) throw unusable(fetched.problem);
    if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(fetched.headers['content-type'] ?? ''))
      throw unusable('Its Content-Type is not application/json.');
    // A token has both in `aud`: one name must not be that of a client and of an API (RFC 8707).
    // One that was retired counts as well: its server may still run.
    if (await wasEverIdentifier(deps, client_id)) throw unusable('It is the identifier of an API.');
    const at = now(deps);
    const read = readMetadata(fetched.json, await deps.scopes.read(), client_id);
    return { ...read, fetched_at: at, fresh_until: at + freshSeconds(fetched.headers, at) };
  }

  async function bring(client_id: string, host: ApprovedHost | undefined, address: string): Promise<Client> {
    const { fetched_at, fresh_until, ...wanted } = await read(client_id);
    const fields = pick(wanted.registration as unknown as Client, reviewedFields);
    const also = [saveDocument({ client_id, fields, fetched_at, fresh_until })];
    return registerFromOutside(deps, { ...wanted, client_id, origin: 'metadata_document', address, host, also });
  }

  async function begin(client_id: string, address: string): Promise<Client> {
    const name = hostOfMetadata(client_id);
    const host = await hosts.find(name);
    const running = reading.get(client_id);
    if (running) return running.client;
    const queue = host ? 'known' : 'unknown';
    requireRoom(queue, name);
    const client = (async () => {
      await ofAddress.take(address).catch((error: unknown) => {
        if (error instanceof RequestError) rememberRefusal(addressKey(address), error, error.retryAfter ?? pause);
        throw error;
      });
      try {
        return await bring(client_id, host, address);
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        const explanation = error.code === 'rate_limited' ? error : explained(client_id, error);
        rememberRefusal(client_id, explanation, pause);
        throw explanation;
      }
    })().finally(() => reading.delete(client_id));
    reading.set(client_id, { queue, host: name, client });
    return client;
  }

  const rememberRefusal = (key: string, error: RequestError, seconds: number) =>
    remember(refused, key, { until: now(deps) + seconds, error });

  async function refresh(client: Client): Promise<void> {
    const again = await refreshDocument(deps, client, () => read(client.client_id)).catch((error: unknown) => {
      deps.log.debug({ err: error, client_id: client.client_id }, 'a metadata document was not read again');
      return undefined;
    });
    remember(refreshAt, client.client_id, again ?? now(deps) + 300);
  }

  return {
    async discover(client_id: string, address: string): Promise<Client | undefined> {
      if (!isOn || !isMetadataUrl(client_id)) return undefined;
      const running = reading.get(client_id);
      if (running) return running.client;
      throwIfRefused(client_id);
      throwIfRefused(addressKey(address));
      return begin(client_id, address);
    },

    keepFresh(client: Client): void {
      if (!isOn || client.origin !== 'metadata_document' || client.status === 'suspended') return;
      const at = refreshAt.get(client.client_id);
      // A time further ahead than a document may be fresh is of a clock that was set back.
      if ((at !== undefined && now(deps) < at && at - now(deps) <= 86_400) || refreshing.size >= atOnce.known) return;
      remember(refreshAt, client.client_id, now(deps) + 300);
      const run = refresh(client).finally(() => refreshing.delete(run));
      refreshing.add(run);
    },

    forgetHost: (host: string) => hosts.forget(host),

    async close(): Promise<void> {
      await Promise.allSettled([...refreshing, ...[...reading.values()].map(({ client }) => client)]);
    },
  };
}

const unusable = (description: string) => new RequestError('invalid_client_metadata', description);

/** As the page and the answer of the authorization endpoint have it. */
const explained = (client_id: string, { message }: RequestError) =>
  new RequestError('invalid_request', `client_id is the URL of a metadata document that cannot be used. ${message}`, {
    userMessage: { key: 'authorize.document', values: { host: hostOfMetadata(client_id) } },
    title: { key: 'error.app_misconfigured' },
    sent: { client_id },
  });
