import type { FastifyRequest } from 'fastify';
import { findInBrowser, startAgain } from '../../authentication/sessions/browser.ts';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { findPendingRequest, type PendingRequest } from './store.ts';

/**
 * The request of that id with its progress, if this browser made it and its ten minutes are not over.
 * @throws {RequestError} `invalid_request` that tells the user how to start again.
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
  throw startAgain();
}
