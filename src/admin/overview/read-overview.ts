import { readLog } from '../../audit/read-log.ts';
import { countFactors } from '../../authentication/statements.ts';
import { countNeedingReview, findClients } from '../../clients/find-clients.ts';
import { listedWithRisks } from '../../clients/read-review.ts';
import type { Deps } from '../../oauth/deps.ts';
import { listKeys } from '../../oauth/signing-keys/signing-keys.ts';
import { now } from '../../platform/clock.ts';
import { busiestClients } from '../../statistics/busiest-clients.ts';
import { readFactorShares } from '../../statistics/factor-shares.ts';
import type { Period } from '../../statistics/periods.ts';
import { readStatistics } from '../../statistics/read-statistics.ts';
import { webhooksWithDead } from '../../webhooks/list-webhooks.ts';
import { namesIn } from '../audit/names.ts';
import { readSetup } from './setup.ts';

/** Clients to review, busiest ones and events that the overview shows. */
const maxShown = 5;

export type Overview = Awaited<ReturnType<typeof readOverview>>;

/** All that an administrator finds on the first page. */
export async function readOverview(deps: Deps, administrator_id: string, days: Period) {
  const [statistics, shares, busiest, waiting, queue, webhooks, keys, log, latest, setup] = await Promise.all([
    readStatistics(deps, days),
    readFactorShares(deps, days, countFactors),
    busiestClients(deps, days, maxShown),
    countNeedingReview(deps),
    findClients(deps, { listing: 'waiting', limit: maxShown }),
    webhooksWithDead(deps),
    listKeys(deps),
    deps.auditLog.state(),
    readLog(deps, {}, maxShown),
    readSetup(deps, administrator_id),
  ]);
  const ids = busiest.clients.map(({ client_id }) => client_id);
  const [reviews, names] = await Promise.all([listedWithRisks(deps, queue.clients), namesIn(deps, latest.events, ids)]);
  const isClockSteady = deps.timekeeper.isSettled();
  const mail = deps.mail.mode;
  return {
    ...{ statistics, shares, busiest, names, waiting, reviews, webhooks, keys, log, setup, mail, isClockSteady },
    latest: latest.events,
    now: now(deps),
  };
}
