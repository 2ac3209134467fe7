import type { Deps, LimitDeps } from '../platform/deps.ts';
import { notFound, refusal } from '../platform/errors.ts';
import { windowLimit } from '../platform/limits/failure-limits.ts';
import { type ClientChange, type ClientDeps, type ClientTarget, changeClient } from './change-client.ts';
import type { Client } from './client.ts';

/** @param owner_user_id whose client it must be; null: nobody's, for administrators and the command line. */
export type OwnTarget = ClientTarget & { owner_user_id: string | null };

/**
 * {@link changeClient} for owners: edits, new secrets and retired ones. Each change is a row of the audit log for good,
 * so one person makes only so many in an hour, of all their clients together. What is refused, or says what is already
 * so, has written nothing and does not count: it costs the store what a look costs. What counts is taken before the
 * first attempt to write, so of any number at once no more are made.
 * @throws notFound for a client of somebody else; accessDenied to administrators for one that has an owner; rateLimited;
 * whatever `decide` throws.
 */
export function changeOwnClient(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: OwnTarget,
  decide: (client: Client) => ClientChange | undefined | Promise<ClientChange | undefined>,
): Promise<Client> {
  let isCounted = target.owner_user_id === null;
  return changeClient(deps, target, async (client) => {
    requireOwnClient(client, target);
    const change = await decide(client);
    if (change === undefined || isCounted) return change;
    await changesOf(deps).take(target.owner_user_id!);
    isCounted = true; // also if somebody else changes the client meanwhile, and this has to be decided again
    return change;
  });
}

const changesOf = (deps: LimitDeps) =>
  windowLimit(deps, {
    name: 'client-change',
    limit: deps.config.limits.clientChangesPerHour,
    windowSeconds: 3600,
  });

/**
 * An owner changes what is theirs; administrators and the command line, for whom `owner_user_id` is null, what is
 * nobody's.
 * @throws notFound for a client of somebody else; accessDenied to administrators for one that has an owner.
 */
export function requireOwnClient(client: Client, { owner_user_id }: { owner_user_id: string | null }): void {
  if (client.owner_user_id === owner_user_id) return;
  throw owner_user_id === null ? refusal('access_denied', { key: 'clients.has_owner' }) : notFound();
}
