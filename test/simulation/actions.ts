import assert from 'node:assert/strict';
import { disableUser, enableUser, signOutUser } from '../../src/admin/users/administer-user.ts';
import { sealAuditLog } from '../../src/audit/chain.ts';
import { changePassword } from '../../src/authentication/passwords/change-password.ts';
import { sessionIdleSeconds, sessionSeconds } from '../../src/authentication/sessions/session.ts';
import { signOut } from '../../src/authentication/sessions/sessions.ts';
import { findSession, insertSession, type Session } from '../../src/authentication/sessions/store.ts';
import { addSecret } from '../../src/clients/manage-secrets.ts';
import { reinstateClient, suspendClient } from '../../src/clients/review-client.ts';
import { readWrite } from '../../src/entitlements/entitlement.ts';
import { writeEntitlement } from '../../src/entitlements/write-entitlement.ts';
import { AuthorizationError } from '../../src/oauth/authorize/authorization-error.ts';
import { readAuthorizationRequest } from '../../src/oauth/authorize/authorization-request.ts';
import { continueAuthorization } from '../../src/oauth/authorize/authorize.ts';
import { authorizeClient } from '../../src/oauth/authorize/authorize-client.ts';
import { authenticateClient } from '../../src/oauth/client-authentication/authenticate-client.ts';
import type { Deps } from '../../src/oauth/deps.ts';
import { userinfo } from '../../src/oauth/discovery/userinfo.ts';
import { applyBulkRevocations } from '../../src/oauth/grants/grants.ts';
import { verifyAccessToken } from '../../src/oauth/token/access-token.ts';
import { redeem } from '../../src/oauth/token/grant-types.ts';
import { introspectToken } from '../../src/oauth/token/introspect-token.ts';
import { revokeToken } from '../../src/oauth/token/revoke-token.ts';
import { mustChange } from '../../src/platform/db/change.ts';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import { RequestError } from '../../src/platform/errors.ts';
import { parseParameters } from '../../src/platform/http/parameters.ts';
import { bucketOf, digest, newIdOf, newSecretIn } from '../../src/platform/ids.ts';
import { challengeOf, verifier } from '../support/relying-party.ts';
import {
  type Attempt,
  type Change,
  type ClientFacts,
  checkAccepted,
  checkIssued,
  checkNotAccepted,
  checkSecret,
  type End,
  type Family,
  judge,
  type SessionFacts,
  type UserFacts,
  Violation,
} from './model.ts';
import type { Start } from './world.ts';

/** What one simulation has seen, and the means of its actions. */
export type Simulation = {
  start: Start;
  users: UserFacts[];
  clients: ClientFacts[];
  sessions: SessionFacts[];
  families: Family[];
  entitlements: Map<string, { applied: number; unknown: number; highest: number; highestUnknown: number }>;
  /** By audited action: how often it was acknowledged, and how often its outcome is unknown. */
  audited: Map<string, { acknowledged: number; unknown: number }>;
  /** The next moment. */
  moment(): number;
  seconds(): number;
  advance(ms: number): void;
  /** Most of so many calls of the store that come next fail. */
  breakDown(calls: number): void;
  note(line: string): void;
  /** Kills a node and starts it anew. */
  restart(node: number): Promise<void>;
};

/** Of one action: what it works with, and where its troubles are noted. */
export type Context = {
  simulation: Simulation;
  deps: Deps;
  run_id: string;
  isTroubled: () => boolean;
  /** Set by a token request, for when its process is killed. */
  attempt?: { family: Family; attempt: Attempt };
  /** Called when the process was killed before the answer. */
  lost?: () => void;
};

/** A step of the plan; the numbers choose among what there is when it begins. */
export type Step = { kind: Kind; node: number; x: number; y: number };

type Outcome<Value> = { kind: 'done'; value: Value } | { kind: 'refused'; error: RequestError } | { kind: 'unknown' };

/** Any other error is a failure of ours. */
async function outcomeOf<Value>(work: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { kind: 'done', value: await work() };
  } catch (error) {
    if (error instanceof StoreUnavailable) return { kind: 'unknown' };
    if (!(error instanceof RequestError)) throw error;
    return error.status >= 500 ? { kind: 'unknown' } : { kind: 'refused', error };
  }
}

const address = '203.0.113.7';
const operator = { actor: 'cli' } as const;
const at = <Value>(values: readonly Value[], place: number): Value | undefined => values[place % values.length];

/** The sessions of which nothing is known that has ended them come first. */
function sessionAt({ sessions }: Simulation, place: number): SessionFacts | undefined {
  const going = sessions.filter(({ ends }) => ends.length === 0);
  return going.length > 0 && place % 5 !== 0 ? at(going, place) : at(sessions, place);
}

async function sessionOf({ deps, simulation }: Context, { cookie }: SessionFacts): Promise<Session | undefined> {
  return findSession(deps.db.of(cookie), digest(cookie), simulation.seconds());
}

async function signIn(context: Context, { x }: Step): Promise<void> {
  const { simulation, deps } = context;
  const user = at(simulation.users, x)!;
  const cookie = newSecretIn(bucketOf(user.user_id), 'st_');
  const now = simulation.seconds();
  const began = simulation.moment();
  const session = {
    session_id: newIdOf(user.user_id, 'ses'),
    token_hash: digest(cookie),
    user_id: user.user_id,
    auth_time: now,
    amr: ['pwd'] as const,
    acr: '1',
    idle_expires_at: now + sessionIdleSeconds,
    expires_at: now + sessionSeconds,
    address,
    user_agent: null,
    trusted_by: null,
    second_step: false,
  };
  const outcome = await outcomeOf(() =>
    deps.db
      .of(session.user_id)
      .change({ run: { session: mustChange(insertSession({ ...session, amr: [...session.amr] }, now)) } }),
  );
  if (outcome.kind !== 'done' || !outcome.value.ok) return;
  const facts: SessionFacts = { cookie, user, began, ends: [] };
  // What ended all sessions meanwhile may have ended this one, too.
  for (const { began: changed, ended } of user.changes) {
    if (ended === undefined || ended > began)
      facts.ends.push({ what: 'a change meanwhile', began: changed, acknowledged: undefined });
  }
  simulation.sessions.push(facts);
}

async function authorize(context: Context, { x, y }: Step): Promise<void> {
  const { simulation, deps } = context;
  const session = sessionAt(simulation, x);
  if (!session) return signIn(context, { kind: 'signIn', node: 0, x, y });
  const client = at(simulation.clients, y)!;
  const family: Family = {
    number: simulation.families.length,
    client,
    session,
    user: session.user,
    began: simulation.moment(),
    issued: 0,
    issuedAt: 0,
    code: '',
    refreshTokens: [],
    accessTokens: [],
    attempts: [],
    ends: [],
  };
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: 'https://rp.test/cb',
    scope: 'openid offline_access',
    state: 's',
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
  });
  const outcome = await outcomeOf(async () => {
    const parsed = parseParameters(String(query));
    const { client, target } = await authorizeClient(deps, parsed, address);
    const request = await readAuthorizationRequest(deps, { client, target }, parsed);
    assert.ok(!(request instanceof AuthorizationError));
    const context_ = { client, browserToken: () => 'browser', address };
    const found = await sessionOf(context, session);
    return continueAuthorization(deps, request, { ...context_, session: found });
  });
  if (outcome.kind !== 'done' || !('location' in outcome.value)) return;
  const code = new URL(outcome.value.location, 'https://signet.test').searchParams.get('code');
  if (code === null) return;
  checkIssued(family);
  Object.assign(family, {
    code,
    issued: simulation.moment(),
    issuedAt: simulation.seconds(),
    number: simulation.families.length,
  });
  const overlapping = [...family.user.changes, ...client.changes].filter(
    ({ ended }) => (ended ?? Infinity) > family.began,
  );
  for (const { began } of overlapping) family.ends.push({ what: 'a change meanwhile', began, acknowledged: undefined });
  for (const end of session.ends) family.ends.push({ ...end, acknowledged: undefined });
  simulation.families.push(family);
  simulation.note(`  = code ${family.number}`);
}

/** A code or refresh token at the token endpoint. */
async function useToken(context: Context, family: Family, place: number, secret = family.client.secret): Promise<void> {
  const { simulation, deps } = context;
  const attempt: Attempt = {
    place,
    began: simulation.moment(),
    beganAt: simulation.seconds(),
    isTroubled: false,
    run_id: context.run_id,
    hasNewestSecret: secret === family.client.secret,
  };
  family.attempts.push(attempt);
  context.attempt = { family, attempt };
  const { client_id } = family.client;
  const end = (outcome: NonNullable<Attempt['outcome']>) => {
    Object.assign(attempt, {
      ended: simulation.moment(),
      outcome,
      isTroubled: attempt.isTroubled || context.isTroubled(),
    });
    simulation.note(
      `  = ${place === 0 ? `code ${family.number}` : `refresh token ${place} of code ${family.number}`}: ${outcome}`,
    );
    judge(family, attempt, simulation.seconds());
  };
  context.lost = () => end('unknown');
  const form: Record<string, string> = { client_id, client_secret: secret };
  if (place === 0) {
    Object.assign(form, {
      grant_type: 'authorization_code',
      code: family.code,
      redirect_uri: 'https://rp.test/cb',
      code_verifier: verifier,
    });
  } else Object.assign(form, { grant_type: 'refresh_token', refresh_token: family.refreshTokens[place]! });
  const outcome = await outcomeOf(async () => {
    const client = await authenticateClient(deps, { authorization: undefined, form, address }, 'token');
    checkSecret(family.client, secret, attempt.began, attempt.beganAt);
    return redeem(deps, { client, form, address, resource: [], jkt: undefined });
  });
  if (outcome.kind !== 'done') {
    const isUnauthenticated = outcome.kind === 'refused' && outcome.error.code === 'invalid_client';
    end(isUnauthenticated ? 'unauthenticated' : outcome.kind);
    return;
  }
  attempt.refresh_token = outcome.value.refresh_token;
  const issued = { token: outcome.value.access_token, issued: simulation.moment(), issuedAt: attempt.beganAt };
  family.accessTokens.push(issued);
  end('tokens');
}

const newestPlace = ({ refreshTokens }: Family): number => Math.max(0, refreshTokens.length - 1);
const familyAt = (simulation: Simulation, place: number): Family | undefined => {
  const going = simulation.families.filter(({ ends }) => ends.length === 0);
  return going.length > 0 && place % 4 !== 0 ? at(going, place) : at(simulation.families, place);
};

async function exchange(context: Context, { x }: Step): Promise<void> {
  const unused = context.simulation.families.filter(({ refreshTokens }) => refreshTokens.length === 0);
  const family = at(unused, x);
  if (family) await useToken(context, family, 0);
}

async function refresh(context: Context, { x }: Step): Promise<void> {
  const family = familyAt(context.simulation, x);
  if (family) await useToken(context, family, newestPlace(family));
}

/** With anything that was ever issued, by a thief or a client that is confused; sometimes with a secret that was replaced. */
async function replay(context: Context, { x, y }: Step): Promise<void> {
  const family = familyAt(context.simulation, x);
  if (!family) return;
  const replaced = y % 3 === 0 ? at(family.client.replaced, x)?.secret : undefined;
  await useToken(context, family, y % (newestPlace(family) + 1), replaced);
}

async function revoke(context: Context, { x }: Step): Promise<void> {
  const { simulation, deps } = context;
  const family = familyAt(simulation, x);
  if (!family || newestPlace(family) === 0) return;
  const end: End = { what: 'its revocation', began: simulation.moment(), acknowledged: undefined };
  family.ends.push(end);
  const client_id = family.client.client_id;
  const outcome = await outcomeOf(async () => {
    const form = { client_id, client_secret: family.client.secret };
    const client = await authenticateClient(deps, { authorization: undefined, form, address }, 'token');
    await revokeToken(deps, family.refreshTokens[newestPlace(family)]!, { client, client_id, address });
  });
  if (outcome.kind === 'done') end.acknowledged = simulation.moment();
}

async function introspect(context: Context, { x, y }: Step): Promise<void> {
  const { simulation, deps } = context;
  const family = familyAt(simulation, x);
  const place = family && newestPlace(family);
  if (!family || !place) return;
  const began = simulation.moment();
  const access = at(family.accessTokens, y);
  const token = y % 2 === 0 && access ? access.token : family.refreshTokens[place]!;
  const sees = { sees: family.client.client_id };
  const outcome = await outcomeOf(async () => (await introspectToken(deps, sees, token)).active);
  judgeReading(
    simulation,
    family,
    { began, access: token === access?.token ? access : undefined },
    outcome.kind === 'done' ? outcome.value : undefined,
  );
}

async function readUserinfo(context: Context, { x, y }: Step): Promise<void> {
  const { simulation, deps } = context;
  const family = familyAt(simulation, x);
  const access = family && at(family.accessTokens, y);
  if (!family || !access) return;
  const began = simulation.moment();
  const outcome = await outcomeOf(async () => userinfo(deps, await verifyAccessToken(deps, access.token)));
  judgeReading(simulation, family, { began, access }, outcome.kind === 'unknown' ? undefined : outcome.kind === 'done');
}

/** @param isActive what was answered; undefined if there was no answer. */
function judgeReading(
  simulation: Simulation,
  family: Family,
  { began, access }: { began: number; access: Family['accessTokens'][number] | undefined },
  isActive: boolean | undefined,
): void {
  const what = access ? 'an access token' : 'the newest refresh token';
  if (isActive) checkAccepted(family, began, what);
  const hasExpired = access !== undefined && simulation.seconds() >= access.issuedAt + 3_590;
  // A newer one may have been issued meanwhile; that does not touch access tokens.
  const isNewest = access !== undefined || family.attempts.every(({ ended }) => ended !== undefined && ended < began);
  if (isActive === false && isNewest && !hasExpired) checkNotAccepted(family, began, simulation.moment(), what);
}

type Affected = { families: Family[]; sessions: SessionFacts[]; change?: { changes: Change[] } };

/** Carries out what ends tokens and sessions, and writes down what follows from its outcome. */
async function ending<Value>(
  { simulation }: Context,
  { what, action, affected }: { what: string; action?: string; affected: Affected },
  work: () => Promise<Value>,
): Promise<Outcome<Value>> {
  const end: End = { what, began: simulation.moment(), acknowledged: undefined };
  const change: Change = { began: end.began, ended: undefined, endedAt: undefined };
  const owners = [...affected.families, ...affected.sessions];
  for (const { ends } of owners) ends.push(end);
  affected.change?.changes.push(change);
  const outcome = await outcomeOf(work);
  simulation.note(`  = ${what}: ${outcome.kind}`);
  if (outcome.kind !== 'unknown') Object.assign(change, { ended: simulation.moment(), endedAt: simulation.seconds() });
  if (outcome.kind === 'done') end.acknowledged = simulation.moment();
  if (outcome.kind === 'refused') for (const { ends } of owners) ends.splice(ends.indexOf(end), 1);
  if (action) count(simulation, action, outcome.kind);
  return outcome;
}

function count({ audited }: Simulation, action: string, outcome: Outcome<unknown>['kind']): void {
  const counts = audited.get(action) ?? { acknowledged: 0, unknown: 0 };
  if (outcome === 'done') counts.acknowledged += 1;
  if (outcome === 'unknown') counts.unknown += 1;
  audited.set(action, counts);
}

/** A process that is killed answers nothing: its action counts as one whose outcome is unknown. */
const lostCount = (context: Context, action: string) => {
  context.lost = () => count(context.simulation, action, 'unknown');
};

async function endSession(context: Context, { x }: Step): Promise<void> {
  const { simulation, deps } = context;
  const session = sessionAt(simulation, x);
  if (!session) return;
  const found = await outcomeOf(() => sessionOf(context, session));
  if (found.kind !== 'done' || !found.value) return;
  const row = found.value;
  const families = simulation.families.filter((family) => family.session === session);
  // A session of which codes are being issued meanwhile: its families see that in the session.
  await ending(context, { what: 'a sign-out', affected: { families, sessions: [session] } }, () => signOut(deps, row));
}

const ofUser = ({ families, sessions }: Simulation, user: UserFacts) => ({
  families: families.filter((family) => family.user === user),
  sessions: sessions.filter((session) => session.user === user),
  change: user,
});

async function signOutEverywhere(context: Context, { x }: Step): Promise<void> {
  const { simulation, deps } = context;
  const user = at(simulation.users, x)!;
  const action = 'user.signed_out';
  lostCount(context, action);
  const outcome = await ending(context, { what: action, affected: ofUser(simulation, user) }, () =>
    signOutUser(deps, operator, user.user_id),
  );
  const isUnchanged = outcome.kind === 'done' && !outcome.value.isChanged; // and in no log
  count(simulation, action, isUnchanged ? 'refused' : outcome.kind);
}

async function disableOrEnable(context: Context, { x }: Step): Promise<void> {
  const { simulation, deps } = context;
  const user = at(simulation.users, x)!;
  const isDisabling = user.isDisabled === false;
  const action = isDisabling ? 'user.disabled' : 'user.enabled';
  user.isDisabled = undefined;
  lostCount(context, action);
  const outcome = await ending(context, { what: action, action, affected: ofUser(simulation, user) }, () =>
    isDisabling ? disableUser(deps, operator, user.user_id) : enableUser(deps, operator, user.user_id),
  );
  // Another one at the same time, or one of which the outcome is unknown, leaves it open until the next that is answered.
  if (outcome.kind === 'done') user.isDisabled = isAlone(user.changes) ? isDisabling : undefined;
  if (outcome.kind === 'refused') user.isDisabled = isAlone(user.changes) ? isDisabling : undefined;
}

/** The last change began after all others had ended. */
function isAlone(changes: readonly Change[]): boolean {
  const last = changes.at(-1)!;
  return changes.every((one) => one === last || (one.ended !== undefined && one.ended < last.began));
}

async function suspendOrReinstate(context: Context, { x }: Step): Promise<void> {
  const { simulation, deps } = context;
  const client = at(simulation.clients, x)!;
  const isSuspending = client.isSuspended === false;
  const action = isSuspending ? 'client.suspended' : 'client.reinstated';
  client.isSuspended = undefined;
  lostCount(context, action);
  const target = { client_id: client.client_id, caller: operator };
  const families = simulation.families.filter((family) => family.client === client);
  const outcome = await ending(
    context,
    { what: action, action, affected: { families, sessions: [], change: client } },
    () => (isSuspending ? suspendClient(deps, target, 'simulated') : reinstateClient(deps, target)),
  );
  if (outcome.kind !== 'unknown') client.isSuspended = isAlone(client.changes) ? isSuspending : undefined;
}

async function setPassword(context: Context, { x, y }: Step): Promise<void> {
  const { simulation, deps } = context;
  const session = sessionAt(simulation, x);
  if (!session) return;
  const found = await outcomeOf(() => sessionOf(context, session));
  if (found.kind !== 'done' || !found.value) return;
  const user = {
    session: found.value,
    caller: { actor: `user:${session.user.user_id}`, address } as const,
    browser: { deviceToken: undefined, userAgent: undefined, locale: 'en' } as const,
  };
  const action = 'password.changed';
  lostCount(context, action);
  const began = simulation.moment();
  const outcome = await ending(context, { what: action, action, affected: ofUser(simulation, session.user) }, () =>
    changePassword(deps, user, `quite other words, number ${y}`),
  );
  if (outcome.kind !== 'done') return;
  simulation.sessions.push({
    cookie: outcome.value.token,
    user: session.user,
    began,
    ends: laterEnds(simulation, session, began),
  });
}

/** The session goes on under its new cookie, unless something else has ended it meanwhile. */
const laterEnds = (simulation: Simulation, session: SessionFacts, began: number): End[] => {
  const others = session.user.changes.filter((one) => one.began !== began && (one.ended ?? Infinity) > began);
  const own = session.ends.filter((end) => end.what === 'a sign-out');
  const isTouched = others.length > 1 || own.length > 0;
  return isTouched ? [{ what: 'a change meanwhile', began: simulation.moment(), acknowledged: undefined }] : [];
};

async function rotateSecret(context: Context, { x }: Step): Promise<void> {
  const { simulation, deps } = context;
  const client = at(simulation.clients, x)!;
  if (client.changes.some(({ ended }) => ended === undefined)) return; // one after the other, as its owner does
  const action = 'client.secret_added';
  lostCount(context, action);
  const target = { client_id: client.client_id, caller: operator, owner_user_id: null, overlapSeconds: 0 };
  const before = client.secret;
  const began = simulation.moment();
  const outcome = await ending(
    context,
    { what: action, action, affected: { families: [], sessions: [], change: client } },
    () => addSecret(deps, target),
  );
  if (outcome.kind !== 'done') return;
  client.secret = outcome.value.client_secret;
  client.replaced.push({
    secret: before,
    began,
    acknowledged: simulation.moment(),
    acknowledgedAt: simulation.seconds(),
  });
}

async function entitle(context: Context, { x, y }: Step): Promise<void> {
  const { simulation, deps } = context;
  const user = at(simulation.users, x)!;
  const version = 1 + (y % 12);
  const write = readWrite({
    user_id: user.user_id,
    product: 'editor',
    plan: `plan ${version}`,
    status: 'active',
    source: 'billing',
    version,
    event_id: `event ${version}`,
  });
  const facts = simulation.entitlements.get(user.user_id) ?? { applied: 0, unknown: 0, highest: 0, highestUnknown: 0 };
  simulation.entitlements.set(user.user_id, facts);
  const highestBefore = facts.highest;
  const unknown = () => {
    facts.unknown += 1;
    facts.highestUnknown = Math.max(facts.highestUnknown, version);
  };
  context.lost = unknown;
  const by = { credential: simulation.start.credential, address };
  const outcome = await outcomeOf(() => writeEntitlement(deps, by, write));
  if (outcome.kind === 'unknown') unknown();
  if (outcome.kind !== 'done') return;
  if (!outcome.value.applied) return;
  if (version <= highestBefore) throw new Violation(`a version never falls: ${version} after ${highestBefore}`);
  facts.applied += 1;
  facts.highest = Math.max(facts.highest, version);
}

async function wait({ simulation }: Context, { x }: Step): Promise<void> {
  simulation.advance([1_100, 2_500, 31_000, 65_000][x % 4]!);
}

export const actions = {
  signIn,
  authorize,
  exchange,
  refresh,
  replay,
  revoke,
  introspect,
  readUserinfo,
  endSession,
  signOutEverywhere,
  disableOrEnable,
  suspendOrReinstate,
  setPassword,
  rotateSecret,
  entitle,
  wait,
  outage: async ({ simulation }: Context, { x }: Step) => simulation.breakDown(5 + (x % 25)),
  restart: ({ simulation }: Context, { node }: Step) => simulation.restart(node),
  seal: async ({ deps }: Context) =>
    void (await outcomeOf(() =>
      sealAuditLog({ ...deps, db: deps.db.parts[0]! } as Parameters<typeof sealAuditLog>[0]),
    )),
  applyBulk: async ({ deps }: Context) => void (await outcomeOf(() => applyBulkRevocations(deps))),
  /** Of the end: each family's newest token. */
  useNewest: async (context: Context, { x }: Step) => {
    const family = context.simulation.families[x]!;
    await useToken(context, family, newestPlace(family));
  },
} satisfies Record<string, (context: Context, step: Step) => Promise<void>>;
export type Kind = keyof typeof actions;

/** How often each is chosen. */
export const weights: readonly (readonly [Kind, number])[] = [
  ['signIn', 3],
  ['authorize', 14],
  ['exchange', 14],
  ['refresh', 16],
  ['replay', 7],
  ['revoke', 2],
  ['introspect', 7],
  ['readUserinfo', 7],
  ['endSession', 2],
  ['signOutEverywhere', 1],
  ['disableOrEnable', 2],
  ['suspendOrReinstate', 2],
  ['setPassword', 2],
  ['rotateSecret', 2],
  ['entitle', 6],
  ['wait', 5],
  ['outage', 2],
  ['restart', 3],
  ['seal', 2],
  ['applyBulk', 2],
];
