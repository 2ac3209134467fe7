import { now } from '../platform/clock.ts';
import type { Deps as PlatformDeps } from '../platform/deps.ts';
import { notFound, rateLimited, refusal } from '../platform/errors.ts';
import { InternalTarget } from '../platform/http/outbound/reachable.ts';
import { type ClientDeps, changeClient } from './change-client.ts';
import type { LogoProblem } from './choices.ts';
import { proposalOf } from './client.ts';
import { findAnyClient } from './find-clients.ts';
import { claimLogo, type DueLogo, dueLogos, saveLogo, wantLogo } from './logos.store.ts';
import { chooseLogo, type LogoState, maxLogoKb, readLogo, readLogoState } from './logos.ts';

type FetchDeps = ClientDeps & Pick<PlatformDeps, 'outbound'>;

/** Seconds after the first attempts; then it is up to a reviewer. */
const retries: readonly number[] = [600, 7200];
/** Longer than an attempt takes: see `outbound.ts`. */
const attemptSeconds = 15;
/** So many hosts are asked at a time. */
const atOnce = 8;

/** What may be otherwise in a while; of the others, a reviewer or the owner has to do something. */
const passing: readonly LogoProblem[] = ['unreachable', 'status', 'slow'];

/** Of each due address one attempt, which makes it due much later, or not at all. @returns false if the signal ended it before. */
export async function fetchDueLogos(deps: FetchDeps, signal?: AbortSignal): Promise<boolean> {
  for (;;) {
    const due = await dueLogos(deps.db, now(deps), atOnce);
    await Promise.all(due.map((one) => attempt(deps, one)));
    if (due.length < atOnce) return true;
    if (signal?.aborted) return false;
  }
}

/**
 * For a reviewer who does not want to wait, or wants to look again.
 * @throws notFound; invalidState without an address; rateLimited while it is being fetched.
 */
export async function fetchLogo(deps: FetchDeps, client_id: string): Promise<LogoState> {
  const url = proposalOf(await findAnyClient(deps, client_id)).logo_url;
  if (url === null) throw refusal('invalid_state', { key: 'clients.logo.none' });
  await deps.db.shared.run(wantLogo(client_id, url, now(deps)));
  // What is not tried by itself is not retried by itself either.
  if (!(await attempt(deps, { client_id: client_id as DueLogo['client_id'], url, attempts: retries.length })))
    throw rateLimited(attemptSeconds);
  const state = await readLogoState(deps, await findAnyClient(deps, client_id));
  if (state === undefined) throw notFound(); // it was edited meanwhile
  return state;
}

/** @returns false if another one is at it. */
async function attempt(deps: FetchDeps, { client_id, url, attempts }: DueLogo): Promise<boolean> {
  const tried_at = now(deps);
  const delay = retries[attempts];
  const next_attempt_at = delay === undefined ? null : tried_at + delay;
  const claim = { now: tried_at, idleSince: tried_at - attemptSeconds, next_attempt_at };
  const { changes } = await deps.db.shared.run(claimLogo({ client_id, url }, claim));
  if (changes === 0) return false;
  const found = await fetchFrom(deps, url);
  const of = { client_id, url, tried_at };
  if ('problem' in found) {
    await deps.db.shared.run(saveLogo(of, found, !passing.includes(found.problem)));
    return true;
  }
  const { content, ...logo } = found;
  await deps.db.shared.run(saveLogo(of, { ...logo, content: content.toString('base64'), fetched_at: now(deps) }, true));
  await showOwn(deps, client_id, logo.picture_id);
  return true;
}

type Found = ReturnType<typeof readLogo>;

/** An address that users chose: nothing inside the network is asked, no redirect is followed, and size and time are limited. */
async function fetchFrom({ outbound }: Pick<FetchDeps, 'outbound'>, url: string): Promise<Found> {
  const nothing = (problem: LogoProblem, detail: string | null = null) => ({ problem, detail });
  try {
    // One byte more than it may have shows that it has more.
    const readBytes = maxLogoKb * 1024 + 1;
    const accept = 'image/png, image/jpeg, image/webp';
    const { status, body, isWhole } = await outbound.send({ method: 'GET', url, headers: { accept }, readBytes });
    if (status >= 300 && status < 400) return nothing('redirect', String(status));
    if (status !== 200) return nothing('status', String(status));
    if (body.length >= readBytes) return nothing('large');
    return isWhole ? readLogo(body) : nothing('slow');
  } catch (error) {
    if (error instanceof InternalTarget) return nothing('internal');
    const { code } = error as NodeJS.ErrnoException;
    return nothing('unreachable', typeof code === 'string' ? code : null);
  }
}

/** Of a first-party client the operator alone answers for the address, and files approve it before it could be fetched. */
async function showOwn(deps: FetchDeps, client_id: string, picture_id: string): Promise<void> {
  const client = await findAnyClient(deps, client_id).catch(() => undefined);
  if (!client?.is_first_party || client.status !== 'approved' || client.logo_id !== null) return;
  await changeClient(deps, { client_id, caller: { actor: 'system' } }, async (seen) => {
    const isShown = seen.status !== 'approved' || seen.logo_id !== null || seen.pending_change !== null;
    if (isShown) return undefined;
    const { logo_id, also } = await chooseLogo(deps, seen, seen, undefined);
    return logo_id === picture_id ? { action: 'client.policy_changed', to: { logo_id }, also } : undefined;
  });
}
