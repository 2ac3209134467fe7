import { createHmac } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Deps } from '../app/deps.ts';
import { now } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import { isIpAddress, subnetList } from '../platform/ip-address.ts';
import { hostResolver, type Resolve } from './resolve-host.ts';
import type { DueDelivery } from './store.ts';
import { forbiddenTarget, guardedLookup, InternalTarget, mayDeliver } from './target.ts';

/** How long a target may take for its answer. */
export const patienceMs = 10_000;

/** What went wrong, in words for an administrator; `isSilent`: there was no answer, and another delivery would get none. */
type Problem = { told: string; isSilent: boolean };

const resolvers = new WeakMap<Db, Resolve>();
function resolverOf(deps: Deps): Resolve {
  const resolve = resolvers.get(deps.db) ?? hostResolver(deps);
  resolvers.set(deps.db, resolve);
  return resolve;
}

/** @returns undefined when it was taken with a 2xx. */
export async function post(
  deps: Deps,
  { url, delivery_id, webhook_id, payload, secret_sealed }: DueDelivery,
): Promise<Problem | undefined> {
  const secret = secretOf(deps, webhook_id, secret_sealed);
  if (secret === undefined) return { told: 'Its secret cannot be read: give it another one.', isSilent: true };
  const timestamp = String(now(deps));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(payload)),
    'user-agent': 'Signet-Webhooks/1',
    'webhook-id': delivery_id,
    'webhook-timestamp': timestamp,
    'webhook-signature': sign(secret, `${delivery_id}.${timestamp}.${payload}`),
  };
  try {
    const status = await send(deps, new URL(url), headers, payload);
    return status >= 200 && status < 300 ? undefined : { told: `It answered ${status}.`, isSilent: false };
  } catch (error) {
    if (error instanceof InternalTarget) return { told: error.message, isSilent: true };
    const { code = 'no answer' } = error as NodeJS.ErrnoException;
    return { told: `It could not be reached: ${code}.`, isSilent: true };
  }
}

function secretOf(deps: Deps, webhook_id: string, sealed: string): string | undefined {
  try {
    return deps.vault.open(`webhook:${webhook_id}`, sealed);
  } catch (error) {
    deps.log.error({ err: error, webhook_id }, 'the secret of a webhook cannot be opened');
    return undefined;
  }
}

/** Standard Webhooks: `v1,` and the base64 of an HMAC-SHA-256 under the secret's bytes. */
const sign = (secret: string, text: string): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
    .update(text)
    .digest('base64')}`;

/** @returns the status. Redirects are not followed, and of the body nothing is read. */
async function send(deps: Deps, url: URL, headers: Record<string, string>, body: string): Promise<number> {
  const allowed = subnetList(deps.config.webhookInternal);
  if (isIpAddress(url.hostname) && !mayDeliver(url.protocol, url.hostname, allowed))
    throw forbiddenTarget(url.protocol);
  const lookup = guardedLookup(resolverOf(deps), url.protocol, allowed);
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(patienceMs);
    const sent = request(url, { method: 'POST', headers, signal, lookup, agent: false }, (answer) => {
      answer.resume();
      answer.destroy();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.on('upgrade', (answer, socket) => {
      socket.destroy();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('close', () => reject(new Error('The connection was closed without an answer.'))); // after all else
    sent.end(body);
  });
}
