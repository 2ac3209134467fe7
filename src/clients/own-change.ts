import type { Deps } from '../deps.ts';
import { notFound, refusal } from '../errors.ts';
import { windowLimit } from '../limits/failure-limits.ts';
import type { Client } from './client.ts';

/**
 * Each change is a row of the audit log for good, so one person makes this many of their clients in an hour: edits, new
 * secrets and retired ones together.
 */
const perOwner = { name: 'client-change', limit: 30, windowSeconds: 3600 };

/** @param owner_user_id null for administrators and the command line, who are not counted. @throws rateLimited. */
export async function takeChange(deps: Pick<Deps, 'db' | 'clock' | 'config'>, owner_user_id: string | null) {
  if (owner_user_id !== null) await windowLimit(deps, perOwner).take(owner_user_id);
}

/**
 * An owner changes what is theirs; administrators and the command line, for whom `owner_user_id` is null, what is
 * nobody's.
 * @throws notFound for a client of somebody else; accessDenied to administrators for one that has an owner.
 */
export function refuseUnlessOwn(client: Client, { owner_user_id }: { owner_user_id: string | null }): void {
  if (client.owner_user_id === owner_user_id) return;
  throw owner_user_id === null ? refusal('access_denied', { key: 'clients.has_owner' }) : notFound();
}
