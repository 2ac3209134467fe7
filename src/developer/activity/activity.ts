import { readLogWithoutSealing } from '../../audit/read-log.ts';
import type { Client } from '../../clients/client.ts';
import { failureCodes, failureStages } from '../../clients/failures.ts';
import { type FailureRow, failuresOf } from '../../clients/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { recentCodesOfClient, type SignIn, signInsOfClient } from '../../oauth/statements.ts';
import { now } from '../../platform/clock.ts';
import { ifThere } from '../../platform/db/parts.ts';
import { nullable, Time } from '../../platform/http/operation.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { type Inference, inferFailures, inferredCodes } from './inferred-failures.ts';
import { Cause, causesOf } from './probable-causes.ts';

/** Why the tokens of a sign-in are inactive. What only the user and Signet should know is `disconnected` to the owner. */
const endReasons = ['expired', 'replay', 'code_replay', 'client', 'client_suspended', 'disconnected'] as const;

const ListedSignIn = Type.Object({
  /** The user is identified as the client knows them. */
  sub: Type.String(),
  scope: Type.String(),
  at: Time,
  /** When tokens were last issued. */
  last_used_at: Time,
  connected: Type.Boolean(),
  ended_because: nullable(Type.Enum([...endReasons])),
});
export type ListedSignIn = Static<typeof ListedSignIn>;

/** Failures that are alike: `at` is when it happened first. */
const ListedFailure = Type.Object({
  at: Time,
  last_at: Time,
  count: Type.Integer({ minimum: 1, description: 'At most five per minute of each kind are counted.' }),
  stage: Type.Enum([...failureStages, 'app'], { description: '`app`: inferred from what the app did with its codes.' }),
  code: Type.Enum([...failureCodes, ...inferredCodes]),
  sent: Type.Optional(Type.String()),
  registered: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  redirect_uri: Type.Optional(Type.String()),
  causes: Type.Optional(Type.Array(Cause, { description: 'Of an inferred failure, the likeliest first.' })),
});
export type ListedFailure = Static<typeof ListedFailure>;

export const Activity = Type.Object({
  sign_ins: Type.Array(ListedSignIn),
  sign_ins_complete: Type.Boolean({
    description:
      'False if fewer than 50 are listed although there may be older ones: sign-ins are looked for among the newest 200 codes of the client.',
  }),
  failures: Type.Array(ListedFailure),
});
export type Activity = Static<typeof Activity>;

/** As many as a page shows. */
const maxListed = 50;

/** What failures are inferred from: the newest codes of the last hour, and none from before an edit that may have mended it. */
const evidence = { seconds: 3600, codes: 500 };

/**
 * Recent sign-ins and failures, newest first, after those that are inferred. All failures that are kept are listed: an
 * attacker could fill a page of the newest by causing many. The caller has checked that the client is the user's.
 */
export async function clientActivity(deps: Pick<Deps, 'db' | 'clock'>, client: Client): Promise<Activity> {
  const at = now(deps);
  const { client_id, updated_at } = client;
  const [{ signIns, isWhole }, kept = [], codes] = await Promise.all([
    signInsOfClient(deps.db, client_id, maxListed),
    ifThere(deps.db, deps.db.of(client_id), failuresOf(deps.db, client_id)),
    recentCodesOfClient(deps.db, client_id, Math.max(at - evidence.seconds, updated_at), evidence.codes),
  ]);
  const failures = kept.flatMap(listedFailure);
  const refusals = failures.filter(
    ({ stage, code }) => code !== 'scope_left_out' && (stage === 'token' || stage === 'client_authentication'),
  );
  const inferred = inferFailures(codes, at, Math.max(0, ...refusals.map(({ last_at }) => last_at)));
  return {
    sign_ins: signIns.map((signIn) => listedSignIn(signIn, at)),
    sign_ins_complete: isWhole || signIns.length === maxListed,
    failures: [...inferred.flatMap((inference) => inferredFailure(client, inference)), ...failures],
  };
}

function inferredFailure(client: Client, inference: Inference): ListedFailure[] {
  const { codes, ...failure } = inference;
  const causes = causesOf(client, inference);
  return causes.length === 0 ? [] : [{ ...failure, count: codes.length, stage: 'app', causes }];
}

function listedSignIn(signIn: SignIn, now: number): ListedSignIn {
  const { user_id: sub, scope, created_at: at, refreshed_at } = signIn;
  const ended_because = endReasonOf(signIn, now);
  return { sub, scope, at, last_used_at: refreshed_at ?? at, connected: ended_because === null, ended_because };
}

function endReasonOf({ revoked_at, revoked_reason, idle_expires_at, expires_at }: SignIn, now: number) {
  if (revoked_at !== null) return endReasons.find((reason) => reason === revoked_reason) ?? 'disconnected';
  return idle_expires_at <= now || expires_at <= now ? 'expired' : null;
}

/** A row of a later version, with a code that this one does not know, is left out. */
function listedFailure({ at, last_at, count, detail, ...row }: FailureRow): ListedFailure[] {
  const stage = failureStages.find((known) => known === row.stage);
  const code = failureCodes.find((known) => known === row.code);
  if (stage === undefined || code === undefined) return [];
  return [{ at, last_at, count, stage, code, ...JSON.parse(detail ?? '{}') }];
}

/** What happened to a client, for its owner; without the administrator who did it. */
export type HistoryEvent = { at: number; action: (typeof clientActions)[number]; reason: string | null };

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

export type History = { events: readonly HistoryEvent[]; hasOlder: boolean };

/** From the audit log, newest first. The caller has checked that the client is the user's. */
export async function clientHistory(deps: Pick<Deps, 'db'>, client_id: string): Promise<History> {
  const actions = clientActions.map((name) => `client.${name}`);
  const found = await readLogWithoutSealing(deps, { target: client_id, actions }, maxListed + 1);
  const events = found.slice(0, maxListed).flatMap(({ at, action, reason }) => {
    const known = clientActions.find((name) => `client.${name}` === action);
    return known === undefined ? [] : [{ at, action: known, reason }];
  });
  return { events, hasOlder: found.length > maxListed };
}
