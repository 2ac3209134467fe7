import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { digest } from '../../src/platform/ids.ts';
import type { Answer, Browser } from '../support/browser.ts';
import { withoutLanguages } from '../support/forms.ts';
import { plain } from '../support/plain-sql.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { codesOf, wrongCode } from '../support/two-factor.ts';
import { until } from '../support/until.ts';

/**
 * FL-01, ASVS 2.3.1: every step of every sign-in flow, in any order, from any state, over HTTP, beside a model that
 * knows which edges exist. After each step the service must have exactly the sessions and codes that the model has.
 *
 * Besides, each code is judged by a rule that knows nothing of the model's edges (OpenID Connect Core §3.1.2.3, §3.1.2.4):
 * the user who saw a question, and answered it, is the user the code is for. See {@link Trace}.
 */
const sessionSteps = 'after each step: the sessions, codes and second factors are those that the model allows';

type App = { secret: string; code(): string; unused: string[]; consumed: string[] };
type Account = {
  user: TestUser;
  /** The second factor in force. */
  app?: App;
  pending?: { secret: string; expires_at: number; tries: number; session: Session };
  reset?: { path: string; expires_at: number };
  consented: boolean;
};
type Session = { account: Account; auth_time: number; isTwoFactor: boolean };
type Waiting = {
  id: string;
  expires_at: number;
  client: RegisteredClient;
  prompt: string;
  /** The session that a sign-in for this request made or renewed. */
  authenticated?: Session;
  chosenBy?: Account;
  consentedBy?: Account;
};
/** A page with a question, as it stands in a tab: who it names, and what its form would send. */
type Shown = { page: QuestionPage; waiting: Waiting; names: Account; fields: Record<string, string> };
type QuestionPage = '/signin/account' | '/consent';
/**
 * What was seen and done, in the words of a bystander: never what the service or the model made of it. An answer counts
 * for the account that its page named, and for the request that the page was about.
 */
type Trace = (
  | { did: 'answered'; page: QuestionPage; request: string; client: RegisteredClient; account: Account }
  | { did: 'signed in'; request: string; account: Account }
)[];
type Attempt = { account: Account; triesLeft: number; expires_at: number; waiting: Waiting | undefined };
/** One browser, and what is supposed to be behind its cookies. */
type Side = { browser: Browser; session?: Session; attempt?: Attempt; waiting?: Waiting; shown?: Shown };
type Model = { sides: [Side, Side]; accounts: [Account, Account]; codes: number; trace: Trace };
type Given = { signet: Signet; skips: RegisteredClient; asks: RegisteredClient };
type Command = fc.AsyncCommand<Model, Given>;
type Step = (model: Model, given: Given) => Promise<void>;

const bogusRequest = `ar_${'x'.repeat(22)}`;
const now = ({ signet }: Given) => Math.floor(signet.clock() / 1000);

function leadsTo(answer: Answer, location: string | RegExp): void {
  assert.ok(answer.status === 302 || answer.status === 303, `${answer.status} ${answer.text}`);
  if (typeof location === 'string') assert.equal(answer.location, location);
  else assert.match(answer.location, location);
}

const answers = (answer: Answer, status: number) =>
  assert.equal(answer.status, status, `${answer.status} ${answer.text}`);

const isOpen = (given: Given, thing: { expires_at: number } | undefined): boolean =>
  thing !== undefined && thing.expires_at > now(given);

/** What the model says of a sign-in whose factors have all been given. */
function entered(
  given: Given,
  side: Side,
  account: Account,
  arrival: { isTwoFactor: boolean; waiting?: Waiting },
): void {
  const signedIn = { account, auth_time: now(given), isTwoFactor: arrival.isTwoFactor };
  // The same user's session goes on; another user's ends.
  if (side.session?.account === account) Object.assign(side.session, signedIn);
  else side.session = signedIn;
  side.attempt = undefined;
  if (arrival.waiting) arrival.waiting.authenticated = side.session;
}

/** What follows the first factor: a session only for a user who has no second one. */
function afterFirstFactor(given: Given, side: Side, account: Account, answer: Answer, waiting?: Waiting): void {
  if (!account.app) {
    leadsTo(answer, waiting ? `/oauth/authorize/continue?request=${waiting.id}` : '/account');
    entered(given, side, account, { isTwoFactor: false, waiting });
    return;
  }
  leadsTo(answer, '/signin/second-factor');
  side.attempt = { account, triesLeft: 5, expires_at: now(given) + 600, waiting };
}

function endAttempts({ sides }: Model, account: Account): void {
  for (const { attempt } of sides) if (attempt?.account === account) attempt.triesLeft = 0;
}

/** Waiting requests are shared with attempts, so what ends one ends it everywhere. */
function endRequest(waiting: Waiting): void {
  waiting.expires_at = 0;
}

/** A session of before the second factor was turned on. */
const lacksFactor = ({ account, isTwoFactor }: Session) => account.app !== undefined && !isTwoFactor;

function nextPage(side: Side, wanted: Pick<Waiting, 'client' | 'prompt'>, given: Given, waiting?: Waiting) {
  const { session } = side;
  if (!session || lacksFactor(session)) return '/signin';
  const hasJustSignedIn = waiting?.authenticated === session;
  if (wanted.prompt === 'login' && !hasJustSignedIn) return '/signin';
  if (wanted.prompt === 'select_account' && !hasJustSignedIn && waiting?.chosenBy !== session.account)
    return '/signin/account';
  const mayKnow =
    wanted.client === given.skips || session.account.consented || waiting?.consentedBy === session.account;
  return mayKnow ? 'code' : '/consent';
}

const steps = {
  signIn:
    (at: number, who: number, right: boolean, forRequest: boolean): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      const account = model.accounts[who]!;
      const waiting = forRequest ? side.waiting : undefined;
      const fields = {
        ...(waiting ? { request: waiting.id } : {}),
        ...(right ? {} : { password: 'other words in a row' }),
      };
      const answer = await account.user.with({ browser: side.browser }).signIn(fields);
      if (waiting && right) model.trace.push({ did: 'signed in', request: waiting.id, account });
      if (waiting && !isOpen(given, waiting)) answers(answer, 400);
      else if (right) afterFirstFactor(given, side, account, answer, waiting);
      else answers(answer, 401);
    },

  giveCode:
    (at: number, kind: 'right' | 'wrong' | 'empty' | 'replayed' | 'backup' | 'used backup' | 'of the other'): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      const { attempt } = side;
      const account = attempt?.account ?? model.accounts[0];
      const { app } = account;
      const other = model.accounts.find((one) => one !== account)?.app;
      const codes = {
        right: app?.code(), // may move the clock, so before anything that depends on it
        wrong: app && wrongCode(given.signet, app.secret),
        empty: '', // one of the five tries, as any other
        replayed: app?.consumed.at(-1),
        backup: app?.unused[0],
        'used backup': app?.consumed.find((code) => code.includes('-')),
        'of the other': other?.code(),
      };
      const code = codes[kind] ?? 'nothing';
      const answer = await side.browser.post('/signin/second-factor', { code });
      if (!attempt || attempt.triesLeft === 0 || !isOpen(given, attempt)) {
        leadsTo(answer, /^\/signin(\?|$)/);
        side.attempt = undefined;
        return;
      }
      if (app && code !== 'nothing' && (kind === 'right' || kind === 'backup')) {
        app.consumed.push(code);
        app.unused = app.unused.filter((one) => one !== code);
        const waiting = isOpen(given, attempt.waiting) ? attempt.waiting : undefined;
        leadsTo(answer, waiting ? `/oauth/authorize/continue?request=${waiting.id}` : '/account');
        entered(given, side, account, { isTwoFactor: true, waiting });
        return;
      }
      answers(answer, 401);
      attempt.triesLeft -= 1;
      if (attempt.triesLeft === 0) side.attempt = undefined;
    },

  seeSecondFactor:
    (at: number): Step =>
    async (model, given) => {
      const { browser, attempt } = model.sides[at]!;
      const answer = await browser.get('/signin/second-factor');
      if (attempt && attempt.triesLeft > 0 && isOpen(given, attempt)) return answers(answer, 200);
      leadsTo(answer, '/signin?stay=1');
      model.sides[at]!.attempt = undefined;
    },

  confirm:
    (at: number, right: boolean): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      const account = side.session?.account ?? model.accounts[1];
      const { email, password } = account.user;
      const fields = { username: email, password: right ? password : 'other words in a row' };
      const answer = await side.browser.post('/signin/confirm', fields);
      if (!side.session) leadsTo(answer, /^\/signin\?next=/);
      else if (right) afterFirstFactor(given, side, account, answer);
      else answers(answer, 401);
    },

  signOut:
    (at: number): Step =>
    async (model) => {
      const side = model.sides[at]!;
      leadsTo(await side.browser.post('/signout'), '/signed-out');
      side.session = undefined;
    },

  authorize:
    (at: number, of: 'skips' | 'asks', prompt: string): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      const client = given[of];
      const answer = await side.browser.get(client.authorizePath({ prompt: prompt || undefined }));
      const page = nextPage(side, { client, prompt }, given);
      if (page === 'code') return receivesCode(model, given, { client, prompt }, answer);
      if (prompt === 'none') return leadsTo(answer, /[?&]error=(login|consent)_required/);
      leadsTo(answer, new RegExp(`^${page}\\?request=ar_`));
      const id = new URL(answer.location, given.signet.url).searchParams.get('request') ?? '';
      side.waiting = { id, expires_at: now(given) + 600, client, prompt };
    },

  proceed:
    (at: number, of: 'own' | 'other'): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      const waiting = of === 'own' ? side.waiting : model.sides[1 - at]!.waiting;
      const id = waiting?.id ?? bogusRequest;
      const answer = await side.browser.get(`/oauth/authorize/continue?request=${id}`);
      if (of === 'other' || !waiting || !isOpen(given, waiting)) return answers(answer, 400);
      const page = nextPage(side, waiting, given, waiting);
      if (page !== 'code') return leadsTo(answer, `${page}?request=${id}`);
      await receivesCode(model, given, waiting, answer);
      endRequest(waiting);
    },

  /** Opens a page with a question and leaves it in its tab: what follows may happen in another one. */
  branding:
    (at: number, page: QuestionPage): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      const { waiting } = side;
      const answer = await side.browser.get(`${page}?request=${waiting?.id ?? bogusRequest}`);
      if (!waiting || !isOpen(given, waiting)) return answers(answer, 400);
      if (!side.session) return leadsTo(answer, `/signin?request=${waiting.id}`);
      if (page === '/consent' && nextPage(side, waiting, given, waiting) !== page) {
        return leadsTo(answer, `/oauth/authorize/continue?request=${waiting.id}`);
      }
      answers(answer, 200);
      const named = model.accounts.filter(({ user }) => answer.text.includes(user.email));
      assert.equal(named.length, 1, `a question is put to one user: ${answer.text}`);
      const hidden = withoutLanguages(answer).matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
      const fields = Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, value]));
      delete fields.form_id; // with it the same form is answered as the first time; here each time is one of its own
      side.shown = { page, waiting, names: named[0]!, fields };
    },

  choose:
    (at: number, from: From): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      const { waiting, fields, names } = formOf(model, at, '/signin/account', from);
      const answer = await side.browser.post('/signin/account', fields);
      if (from === 'other' || !waiting || !isOpen(given, waiting)) return answers(answer, 400);
      if (side.session && names !== side.session.account) {
        return leadsTo(answer, `/signin/account?request=${waiting.id}`);
      }
      leadsTo(answer, `/oauth/authorize/continue?request=${waiting.id}`);
      if (side.session) waiting.chosenBy = side.session.account;
    },

  consent:
    (at: number, decision: 'allow' | 'deny', from: From): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      const { waiting, fields, names } = formOf(model, at, '/consent', from, decision === 'allow');
      const answer = await side.browser.post('/consent', { ...fields, decision });
      if (from === 'other' || !waiting || !isOpen(given, waiting)) return answers(answer, 400);
      if (!side.session) return leadsTo(answer, `/signin?request=${waiting.id}`);
      // A user who is not asked yet, or not any more, answers nothing.
      if (nextPage(side, waiting, given, waiting) !== '/consent') {
        return leadsTo(answer, `/oauth/authorize/continue?request=${waiting.id}`);
      }
      if (names !== side.session.account) return leadsTo(answer, `/consent?request=${waiting.id}`);
      if (decision === 'deny') {
        leadsTo(answer, /[?&]error=access_denied/);
        return endRequest(waiting);
      }
      leadsTo(answer, `/oauth/authorize/continue?request=${waiting.id}`);
      waiting.consentedBy = side.session.account;
      if (waiting.client === given.asks) side.session.account.consented = true;
    },

  enroll:
    (at: number): Step =>
    async (model, given) => {
      const { browser, session } = model.sides[at]!;
      const answer = await browser.postEmpty('/v1/me/2fa/totp/enroll');
      if (!mayChangeFactors(given, session, answer)) return;
      answers(answer, 200);
      const secret = String(answer.json?.secret_base32);
      session!.account.pending = { secret, expires_at: now(given) + 600, tries: 0, session: session! };
    },

  confirmTotp:
    (at: number, right: boolean, signsOutOthers: boolean): Step =>
    async (model, given) => {
      const { browser, session } = model.sides[at]!;
      const waiting = session?.account.pending;
      const pending = waiting?.session === session ? waiting : undefined; // in the session that asked for it alone
      const code =
        pending && (right ? codesOf(given.signet, pending.secret) : () => wrongCode(given.signet, pending.secret));
      const others = signsOutOthers ? { end_other_sessions: true } : {};
      const answer = await browser.postJson('/v1/me/2fa/totp/confirm', { code: code?.() ?? '123456', ...others });
      if (!mayChangeFactors(given, session, answer)) return;
      if (!pending || pending.tries >= 5 || !isOpen(given, pending)) return answers(answer, 409);
      pending.tries += 1;
      if (!right) return answers(answer, 400);
      answers(answer, 200);
      const next = codesOf(given.signet, pending.secret);
      const confirming = next();
      session!.account.app = {
        secret: pending.secret,
        code: next,
        unused: answer.json?.backup_codes as string[],
        consumed: [confirming],
      };
      session!.account.pending = undefined;
      session!.isTwoFactor = true;
      endAttempts(model, session!.account);
      for (const one of model.sides) {
        const isOther = one.session?.account === session!.account && one.session !== session;
        if (signsOutOthers && isOther) one.session = undefined;
      }
    },

  disableTotp:
    (at: number): Step =>
    async (model, given) => {
      const { browser, session } = model.sides[at]!;
      const answer = await browser.delete('/v1/me/2fa/totp');
      if (!mayChangeFactors(given, session, answer)) return;
      if (!session!.account.app) return answers(answer, 409);
      answers(answer, 204);
      session!.account.app = undefined;
      session!.account.pending = undefined;
      endAttempts(model, session!.account);
    },

  requestPasswordReset:
    (at: number, who: number): Step =>
    async (model, given) => {
      const { email } = model.accounts[who]!.user;
      const { signet } = given;
      const before = signet.logLines.length;
      leadsTo(await model.sides[at]!.browser.post('/reset', { email }), '/reset/sent');
      let path = '';
      await until('the mail with the link is sent', async () => {
        await signet.deps.mail.deliver();
        const line = signet.logLines.slice(before).find((one) => one.includes(email) && one.includes('/reset/ln_'));
        path = /\/reset\/ln_[\w-]+/.exec(line ?? '')?.[0] ?? '';
        return path !== '';
      });
      model.accounts[who]!.reset = { path, expires_at: now(given) + 1800 };
    },

  useReset:
    (at: number, who: number): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      const account = model.accounts[who]!;
      const { reset } = account;
      const answer = await side.browser.post(reset?.path ?? '/reset/ln_bogus', { password: account.user.password });
      if (!isOpen(given, reset)) return answers(answer, 400);
      account.reset = undefined;
      account.pending = undefined;
      for (const one of model.sides) if (one.session?.account === account) one.session = undefined;
      endAttempts(model, account);
      afterFirstFactor(given, side, account, answer);
    },

  /** A question stays open in one tab while another user signs in in the next; chance alone seldom gets so far. */
  switchAccounts:
    (at: number, page: QuestionPage, of: 'skips' | 'asks', who: number): Step =>
    async (model, given) => {
      const side = model.sides[at]!;
      await steps.authorize(at, of, page === '/consent' ? '' : 'select_account')(model, given);
      await steps.branding(at, page)(model, given);
      await steps.signIn(at, who, true, false)(model, given);
      if (side.attempt) await steps.giveCode(at, 'right')(model, given);
      if (page === '/consent') await steps.consent(at, 'allow', 'page')(model, given);
      else await steps.choose(at, 'page')(model, given);
      await steps.proceed(at, 'own')(model, given);
    },

  wait:
    (seconds: number): Step =>
    async (_model, { signet }) =>
      signet.clock.advance(seconds),

  /** What no browser that follows the flows sends. It is refused, and changes nothing. */
  garbage:
    (at: number, probe: Probe): Step =>
    async (model) => {
      const { browser } = model.sides[at]!;
      const answer = probe.fields ? await browser.post(probe.path, probe.fields) : await browser.get(probe.path);
      assert.ok(answer.status < 500, `${probe.path}: ${answer.status} ${answer.text}`);
      assert.ok(!/[?&]code=/.test(answer.location));
    },
};

type Probe = { path: string; fields?: Record<string, string> };
const probes: Probe[] = [
  { path: '/signin/passkey', fields: { credential: 'x' } },
  { path: '/signin/passkey', fields: { credential: '{"id":"x","response":{}}' } },
  { path: '/signin/confirm/passkey', fields: { credential: '{"id":"x","response":{}}' } },
  { path: '/signin/second-factor/passkey', fields: { credential: 'x' } },
  { path: '/signin/passkey/options', fields: {} },
  { path: '/signin/confirm/passkey/options', fields: {} },
  { path: '/signin/second-factor/passkey/options', fields: {} },
  { path: '/auth/google/callback?code=x&state=y' },
  { path: '/auth/google/callback?error=access_denied' },
  { path: '/signup/ln_bogus', fields: { name: 'X', password: 'ordinary words in a row' } },
  { path: '/verify-email/ln_bogus', fields: {} },
  { path: '/invite/it_bogus', fields: { email: 'x@example.com', name: 'X', password: 'ordinary words in a row' } },
  { path: '/consent', fields: { decision: 'allow' } },
  { path: '/signin/account', fields: {} },
  { path: '/oauth/authorize/continue' },
];

function mayChangeFactors(given: Given, session: Session | undefined, answer: Answer): boolean {
  if (!session) answers(answer, 401);
  else if (now(given) - session.auth_time > 900 || lacksFactor(session)) answers(answer, 403);
  else return true;
  return false;
}

/** What is posted: the page in the tab as it stands, the same without who it named, or another browser's request. */
type From = 'page' | 'page without user' | 'other';

/** @returns the form that is sent, and whom its page named; the trace keeps that it was answered with yes. */
function formOf(model: Model, at: number, page: QuestionPage, from: From, isYes = true) {
  const side = model.sides[at]!;
  const shown = side.shown?.page === page ? side.shown : undefined;
  const waiting = from === 'other' ? model.sides[1 - at]!.waiting : (shown?.waiting ?? side.waiting);
  const request = waiting?.id ?? bogusRequest;
  if (!shown || from === 'other') return { waiting, fields: { request }, names: undefined };
  const { names: account, fields } = shown;
  if (isYes) model.trace.push({ did: 'answered', page, request, client: shown.waiting.client, account });
  if (from === 'page') return { waiting, fields, names: account };
  const { user: _user, ...others } = fields;
  return { waiting, fields: others, names: undefined };
}

type Wanted = Pick<Waiting, 'client' | 'prompt'> & { id?: string };

async function receivesCode(model: Model, given: Given, wanted: Wanted, answer: Answer): Promise<void> {
  leadsTo(answer, new RegExp(`^${wanted.client.redirect_uri}\\?code=ac_`));
  model.codes += 1;
  const code = new URL(answer.location).searchParams.get('code') ?? '';
  const { db } = given.signet.deps;
  const grant = await plain(db).get<{ user_id: string }>('select user_id from grants where code_hash = $1', [
    digest(code),
  ]);
  const isTheirs = ({ account }: { account: Account }) => account.user.user_id === grant?.user_id;
  const { trace } = model;
  const signedIn = trace.some((one) => one.did === 'signed in' && one.request === wanted.id && isTheirs(one));
  const answered = (page: QuestionPage) =>
    trace.filter((one) => one.did === 'answered' && one.page === page && isTheirs(one));
  if (wanted.prompt === 'select_account') {
    const chose = answered('/signin/account').some(({ request }) => request === wanted.id);
    assert.ok(signedIn || chose, 'the code is for a user who has chosen the account, or signed in, for this request');
  }
  if (wanted.prompt === 'login') assert.ok(signedIn, 'the code is for a user who has signed in for this request');
  if (wanted.client === given.asks) {
    const allowed = answered('/consent').some((one) => one.did === 'answered' && one.client === wanted.client);
    assert.ok(allowed, 'the code is for a user who saw the question of this client');
  }
}

/** The service has what the model has: these sessions, of these users, by these factors, and not one code more. */
async function compare(model: Model, given: Given): Promise<void> {
  const { db } = given.signet.deps;
  for (const { browser, session } of model.sides) {
    const { status, json } = await browser.get('/v1/me');
    assert.equal(status, session ? 200 : 401, sessionSteps);
    if (!session || !json) continue;
    assert.equal(json.user_id, session.account.user.user_id);
    assert.equal(json.two_factor_enabled, session.account.app !== undefined);
    const { acr, auth_time } = json.session as { acr: string; auth_time: number };
    assert.equal(acr, session.isTwoFactor ? 'urn:signet:acr:2fa' : 'urn:signet:acr:1fa');
    assert.equal(auth_time, session.auth_time);
  }
  const users = model.accounts.map(({ user }) => user.user_id);
  const live = await plain(db).all<{ user_id: string }>(
    'select user_id from sessions where ended_at is null and user_id in ($1, $2) order by user_id',
    users,
  );
  const expected = model.sides.flatMap(({ session }) => session?.account.user.user_id ?? []).sort();
  assert.deepEqual(
    live.map(({ user_id }) => user_id),
    expected,
    'no session but those of the two browsers',
  );
  const codes = await plain(db).get<{ count: number }>(
    'select count(*) as count from grants where user_id in ($1, $2)',
    users,
  );
  assert.equal(codes?.count, model.codes, 'no code but those that a live session asked for');
}

/**
 * One command for each choice of its parameters; its weight is how often it stands in the list.
 * @param when leaves out most of what would only be refused, so that more of a run is spent further in. Every step
 * stands in the list without it, too.
 */
function commands<Choice extends [number, ...unknown[]]>(
  weight: number,
  step: (...choice: Choice) => Step,
  choices: fc.Arbitrary<Choice>,
  when: (side: Side) => boolean = () => true,
): fc.Arbitrary<Command>[] {
  const command = (choice: Choice): Command => ({
    check: ({ sides }) => when(sides[choice[0]] ?? sides[0]),
    async run(model, given) {
      await step(...choice)(model, given);
      await compare(model, given);
    },
    toString: () => `${step.name}(${choice.map((one) => JSON.stringify(one)).join(', ')})`,
  });
  return Array.from({ length: weight }, () => choices.map(command));
}

const side = fc.constantFrom<number[]>(0, 0, 0, 0, 1);
const who = fc.constantFrom<number[]>(0, 0, 1);
const mostlyTrue = fc.constantFrom<boolean[]>(true, true, true, false);
const whose = fc.constantFrom('own' as const, 'own' as const, 'own' as const, 'other' as const);
const from = fc.constantFrom<From[]>('page', 'page', 'page', 'page without user', 'other');
const question = fc.constantFrom<QuestionPage[]>('/signin/account', '/consent');
const prompt = fc.constantFrom('', '', 'none', 'login', 'select_account', 'select_account');
const client = fc.constantFrom('skips' as const, 'asks' as const);
const decision = fc.constantFrom('allow' as const, 'allow' as const, 'deny' as const);
const rightCode = fc.constantFrom('right' as const, 'backup' as const);
const otherCode = fc.constantFrom(...(['wrong', 'empty', 'replayed', 'used backup', 'of the other'] as const));
const anyCode = fc.oneof(rightCode, otherCode);
const isHalfIn = ({ attempt }: Side) => attempt !== undefined;
const isIn = ({ session }: Side) => session !== undefined;
const isShown = ({ shown }: Side) => shown !== undefined;
const isAwaited = ({ waiting }: Side) => waiting !== undefined && waiting.expires_at > 0;
const everyCommand = [
  ...commands(5, steps.signIn, fc.tuple(side, who, mostlyTrue, fc.boolean())),
  ...commands(5, steps.giveCode, fc.tuple(side, rightCode), isHalfIn),
  ...commands(4, steps.giveCode, fc.tuple(side, otherCode), isHalfIn),
  ...commands(1, steps.giveCode, fc.tuple(side, anyCode)),
  ...commands(1, steps.seeSecondFactor, fc.tuple(side)),
  ...commands(1, steps.confirm, fc.tuple(side, mostlyTrue), isIn),
  ...commands(1, steps.confirm, fc.tuple(side, mostlyTrue)),
  ...commands(1, steps.signOut, fc.tuple(side)),
  ...commands(4, steps.authorize, fc.tuple(side, client, prompt)),
  ...commands(4, steps.proceed, fc.tuple(side, whose), isAwaited),
  ...commands(1, steps.proceed, fc.tuple(side, whose)),
  ...commands(6, steps.branding, fc.tuple(side, question), isAwaited),
  ...commands(1, steps.branding, fc.tuple(side, question)),
  ...commands(3, steps.switchAccounts, fc.tuple(side, question, client, who), isIn),
  ...commands(4, steps.choose, fc.tuple(side, from), isShown),
  ...commands(1, steps.choose, fc.tuple(side, from)),
  ...commands(4, steps.consent, fc.tuple(side, decision, from), isShown),
  ...commands(1, steps.consent, fc.tuple(side, decision, from)),
  ...commands(1, steps.enroll, fc.tuple(side)),
  ...commands(2, steps.enroll, fc.tuple(side), isIn),
  ...commands(3, steps.confirmTotp, fc.tuple(side, mostlyTrue, fc.boolean()), isIn),
  ...commands(1, steps.confirmTotp, fc.tuple(side, mostlyTrue, fc.boolean())),
  ...commands(1, steps.disableTotp, fc.tuple(side)),
  ...commands(1, steps.requestPasswordReset, fc.tuple(side, who)),
  ...commands(1, steps.useReset, fc.tuple(side, who)),
  ...commands(1, steps.wait, fc.tuple(fc.constantFrom(1, 31, 300, 601, 901))),
  ...commands(2, steps.garbage, fc.tuple(side, fc.constantFrom(...probes))),
];

/** Two users, one of them with TOTP, and two browsers that have nothing in them yet. */
async function beginning({ signet }: Given): Promise<Model> {
  const guarded = await signet.newUser();
  const plain = await signet.newUser();
  await guarded.signIn();
  const { secret, code, backup_codes } = await guarded.enableTotp();
  await guarded.browser.post('/signout');
  const accounts: Model['accounts'] = [
    { user: guarded, app: { secret, code, unused: backup_codes, consumed: [] }, consented: false },
    { user: plain, consented: false },
  ];
  return {
    accounts,
    sides: [{ browser: signet.newBrowser() }, { browser: signet.newBrowser() }],
    codes: 0,
    trace: [],
  };
}

async function startWithClients(t: TestContext): Promise<Given> {
  const env = { SIGNET_RATE_LIMITS: 'off', SIGNET_GOOGLE_CLIENT_ID: 'x', SIGNET_GOOGLE_CLIENT_SECRET: 'y' };
  const signet = await startSignet(t, { env });
  const owner = await signet.newUser();
  await owner.signIn();
  return {
    signet,
    skips: await signet.registerClient({ owner }),
    asks: await signet.registerClient({ owner, consent: 'required' }),
  };
}

test('FL-01: of all steps in all orders only the allowed edges succeed, and none leads around the second factor', async (t) => {
  const given = await startWithClients(t);
  const seed = randomInt(2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const anyOrder = fc.commands(everyCommand, { maxCommands: 90, size: 'max' });
  await fc.assert(
    fc.asyncProperty(anyOrder, async (order) => {
      const model = await beginning(given);
      await fc.asyncModelRun(() => ({ model, real: given }), order);
    }),
    { seed, numRuns: 20 },
  );
});
