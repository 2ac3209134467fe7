import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Answer, Browser } from '../support/browser.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { acceptConfirmation, acmeAt, followUpstream, startUpstream, type Upstream } from '../support/upstream.ts';

/**
 * FL-01 for detours to an upstream: every step in any order, over HTTP, beside a model that knows which edges exist.
 * `totp` has a second factor and never gives it, so no browser may ever be signed in as `totp`.
 */
const names = ['ada', 'ben', 'totp'] as const;
type Name = (typeof names)[number];
/** Who signs in upstream: a user with the address of one of the three, or with an address that is not verified. */
type Sub = Name | 'unverified';
type Mode = 'sign_in' | 'confirm' | 'link';
type Session = { name: Name };
type Detour = { mode: Mode; sub: Sub; callback: string; session: Session | undefined };

type World = {
  signet: Signet;
  upstream: Upstream;
  browser: Browser;
  users: Record<Name, TestUser>;
  /** The suffix that makes subjects of one run its own. */
  run: number;
};
type Model = {
  session: Session | undefined;
  /** Subject → whose account it opens. */
  identities: Map<Sub, Name>;
  detours: Detour[];
  /** The detour that the browser's cookie is for. */
  open: Detour | undefined;
};
type Step = (model: Model, world: World) => Promise<void>;

const answers = (answer: Answer, status: number, location?: RegExp) => {
  assert.equal(answer.status, status, answer.text);
  if (location) assert.match(answer.location, location);
};

const enter = (model: Model, name: Name) => {
  if (model.session?.name !== name) model.session = { name };
};

const leave =
  (mode: Mode, sub: Sub): Step =>
  async (model, { signet, upstream, browser, users, run }) => {
    const email = sub === 'unverified' ? users.ada.email : users[sub].email;
    upstream.account = { sub: `${sub}-${run}`, email, email_verified: sub !== 'unverified' };
    const answer =
      mode === 'link'
        ? await browser.post('/account/security/providers/acme')
        : await browser.get(`/auth/acme/login${mode === 'confirm' ? '?confirm=1' : ''}`);
    if (mode !== 'sign_in' && !model.session) return answers(answer, 303, /^\/signin\?/);
    answers(answer, mode === 'link' ? 303 : 302, /^http/);
    const { pathname, search, origin } = await followUpstream(answer.location);
    assert.equal(origin, signet.url);
    model.open = { mode, sub, callback: pathname + search, session: mode === 'sign_in' ? undefined : model.session };
    model.detours.push(model.open);
  };

/** @param back how many detours ago it began: 0 is the newest. */
const comeBack =
  (back: number): Step =>
  async (model, { browser }) => {
    const authorization = model.detours.at(-1 - back);
    if (!authorization) return;
    const answer = await acceptConfirmation(browser, await browser.get(authorization.callback));
    if (authorization !== model.open) return answers(answer, 400);
    model.open = undefined;
    arrive(model, authorization, answer);
  };

function arrive(model: Model, { mode, sub, session }: Detour, answer: Answer) {
  const { identities } = model;
  const owner = identities.get(sub);
  if (mode === 'sign_in') {
    const name = owner ?? (sub === 'unverified' || [...identities.values()].includes(sub) ? undefined : sub);
    if (name === undefined) return answers(answer, 403);
    identities.set(sub, name);
    if (name === 'totp') return answers(answer, 303, /^\/signin\/second-factor$/);
    enter(model, name);
    return answers(answer, 303, /^\/account$/);
  }
  if (!session || session !== model.session) return answers(answer, 403);
  if (mode === 'confirm') return answers(answer, owner === session.name ? 303 : 403);
  if (owner === session.name) return answers(answer, 303, /done=linked/);
  if (owner !== undefined || [...identities.values()].includes(session.name)) return answers(answer, 409);
  identities.set(sub, session.name);
  answers(answer, 303, /done=linked/);
}

const byPassword =
  (name: Name): Step =>
  async (model, { browser, users }) => {
    const answer = await users[name].with({ browser }).signIn();
    if (name === 'totp') return answers(answer, 303, /second-factor/);
    answers(answer, 303, /^\/account$/);
    enter(model, name);
  };

const signOut: Step = async (model, { browser }) => {
  answers(await browser.post('/signout'), 303);
  model.session = undefined;
};

const unlink: Step = async (model, { browser }) => {
  const answer = await browser.delete('/v1/me/identities/acme');
  if (!model.session) return answers(answer, 401);
  const linked = [...model.identities].find(([, name]) => name === model.session?.name);
  answers(answer, linked ? 204 : 404);
  if (linked) model.identities.delete(linked[0]);
};

async function compare(model: Model, { signet, browser, users, run }: World): Promise<void> {
  const me = await browser.get('/v1/me');
  assert.equal(me.json?.user_id, model.session && users[model.session.name].user_id);
  const rows = await plain(signet.deps.db).all<{ subject: string; user_id: string }>(
    'select subject, user_id from identities where subject like $1',
    [`%-${run}`],
  );
  assert.deepEqual(
    new Map(rows.map(({ subject, user_id }) => [subject, user_id])),
    new Map([...model.identities].map(([sub, name]) => [`${sub}-${run}`, users[name].user_id])),
  );
}

const subs = fc.constantFrom<Sub>(...names, 'unverified');
const step: fc.Arbitrary<[string, Step]> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom<Mode>('sign_in', 'confirm', 'link'), subs)
      .map(([mode, sub]): [string, Step] => [`leave to ${mode} as ${sub}`, leave(mode, sub)]),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(0, 0, 0, 1, 2)
      .map((back): [string, Step] => [`come back from the detour ${back} before the last`, comeBack(back)]),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...names).map((name): [string, Step] => [`password of ${name}`, byPassword(name)]),
  },
  { weight: 1, arbitrary: fc.constant<[string, Step]>(['sign out', signOut]) },
  { weight: 1, arbitrary: fc.constant<[string, Step]>(['unlink', unlink]) },
);

test('FL-01: upstream authorizations: after each step exactly the session and the links that the model allows', async (t) => {
  let clock = () => 0;
  const upstream = await startUpstream(t, () => clock());
  const signet = await startSignet(t, { env: { ...acmeAt(upstream.issuer), SIGNET_RATE_LIMITS: 'off' } });
  clock = () => Math.floor(signet.clock() / 1000);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 16 }), async (steps) => {
      run += 1;
      const users = { ada: await signet.newUser(), ben: await signet.newUser(), totp: await signet.newUser() };
      await users.totp.signIn();
      await users.totp.enableTotp();
      const world = { signet, upstream, users, run, browser: signet.newBrowser() };
      const model: Model = { session: undefined, identities: new Map(), detours: [], open: undefined };
      const done: string[] = [];
      for (const [name, act] of steps) {
        done.push(name);
        try {
          await act(model, world);
          await compare(model, world);
        } catch (error) {
          throw new Error(`after ${done.join(', ')}`, { cause: error });
        }
      }
    }),
    { numRuns: 25, seed: randomInt(2 ** 31), endOnFailure: true },
  );
});
