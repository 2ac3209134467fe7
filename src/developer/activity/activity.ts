import { auditRowsOf } from '../../audit/read-log.ts';
import {
  type FailureCode,
  type FailureDetail,
  type FailureRow,
  type FailureStage,
  failureCodes,
  failureStages,
  failuresOf,
} from '../../clients/failures.ts';
import { findOwnClient } from '../../clients/find-clients.ts';
import type { Deps } from '../../oauth/deps.ts';
import { type SignIn, signInsOfClient } from '../../oauth/grants/grants.ts';
import { now } from '../../platform/clock.ts';

type ActivityDeps = Pick<Deps, 'db' | 'clock'>;

/** Why tokens of a sign-in do not count any more. What is between a person and us is `disconnected` to the client. */
export const endReasons = ['expired', 'replay', 'code_replay', 'client', 'client_suspended', 'disconnected'] as const;
type EndReason = (typeof endReasons)[number];

/** A sign-in as the owner of the client may know of it: the person is the subject that the client knows, no more. */
export type ListedSignIn = {
  sub: string;
  scope: string;
  at: number;
  /** When tokens were last issued. */
  last_used_at: number;
  connected: boolean;
  ended_because: EndReason | null;
};

/** Failures that are alike: `at` is when it happened first. */
export type ListedFailure = {
  at: number;
  last_at: number;
  count: number;
  stage: FailureStage;
  code: FailureCode;
} & FailureDetail;

export type Activity = { sign_ins: ListedSignIn[]; failures: ListedFailure[] };

/** As many as a page shows. */
const maxListed = 50;

/**
 * Who signed in with a client lately, and what failed and why. Newest first. Of the failures it is all that are kept: a
 * page of the newest would be filled by whoever makes the most noise.
 * @throws notFound for an unknown client and for one of somebody else.
 */
export async function clientActivity(deps: ActivityDeps, client_id: string, owner_user_id: string): Promise<Activity> {
  await findOwnClient(deps, client_id, owner_user_id);
  const [signIns, failures] = await Promise.all([
    signInsOfClient(deps.db, client_id, maxListed),
    failuresOf(deps.db, client_id),
  ]);
  return {
    sign_ins: signIns.map((signIn) => listedSignIn(signIn, now(deps))),
    failures: failures.flatMap(listedFailure),
  };
}

function listedSignIn(signIn: SignIn, at: number): ListedSignIn {
  const ended_because = endingOf(signIn, at);
  return {
    sub: signIn.user_id,
    scope: signIn.scope,
    at: signIn.created_at,
    last_used_at: signIn.refreshed_at ?? signIn.created_at,
    connected: ended_because === null,
    ended_because,
  };
}

function endingOf({ revoked_at, revoked_reason, idle_expires_at, expires_at }: SignIn, at: number): EndReason | null {
  if (revoked_at !== null) return endReasons.find((ending) => ending === revoked_reason) ?? 'disconnected';
  return idle_expires_at <= at || expires_at <= at ? 'expired' : null;
}

/** A row of a later version, with a code that this one does not know, is passed over. */
function listedFailure(row: FailureRow): ListedFailure[] {
  const stage = failureStages.find((known) => known === row.stage);
  const code = failureCodes.find((known) => known === row.code);
  if (stage === undefined || code === undefined) return [];
  const { at, last_at, count } = row;
  const detail = row.detail === null ? {} : (JSON.parse(row.detail) as FailureDetail);
  return [{ at, last_at, count, stage, code, ...detail }];
}

/** What happened to a client, for its owner; without the administrator who did it. */
export type HistoryEvent = { at: number; action: ClientAction; reason: string | null };

const clientActions = [
  'registered',
  'edited',
  'approved',
  'rejected',
  'change_requested',
  'change_withdrawn',
  'change_approved',
  'change_rejected',
  'suspended',
  'reinstated',
  'secret_added',
  'secret_retired',
] as const;
export type ClientAction = (typeof clientActions)[number];

/** From the audit log, newest first. The caller has found the client to be the reader's. */
export async function clientHistory({ db }: Pick<Deps, 'db'>, client_id: string): Promise<HistoryEvent[]> {
  const rows = await auditRowsOf(db, client_id, maxListed);
  return rows.flatMap(({ at, action, reason }) => {
    const known = clientActions.find((name) => `client.${name}` === action);
    return known === undefined ? [] : [{ at, action: known, reason }];
  });
}
