import type { FastifyRequest } from 'fastify';
import { findInBrowser, startAgain } from '../../authentication/sessions/browser.ts';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { findPendingRequest, type PendingRequest } from './store.ts';

export const continuePath = ({ request_id }: PendingRequest): string =>
  `/oauth/authorize/continue?request=${request_id}`;

/**
 * The pending request of that id, if this browser made it in the last ten minutes.
 * @throws {RequestError} `invalid_request`, with a text for the user about how to start again.
 */
export async function requirePendingRequest(
  deps: Pick<Deps, 'db' | 'clock' | 'config'>,
  request: FastifyRequest,
  request_id: string | undefined,
): Promise<PendingRequest> {
  const pending = await findInBrowser(deps, request, request_id, (id, browser_hash) =>
    findPendingRequest(deps.db, id, browser_hash, now(deps)),
  );
  if (pending) return pending;
  throw startAgain(deps, request);
}
