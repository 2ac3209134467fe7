import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { changeRole } from '../../src/admin/users/administer-user.ts';
import { registerClient as registerByOperator } from '../../src/clients/register-client.ts';
import { readRegistration } from '../../src/clients/registration.ts';
import { sentence } from '../support/messages.ts';
import { redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const administrator = (signet: Signet) => signet.signedInUser({ role: 'admin' });
const pageOf = async ({ browser }: TestUser, client_id: string) =>
  (await browser.get(`/admin/clients/${client_id}`)).text;
const consentRadios = (page: string, form: string) =>
  (new RegExp(`action="/admin/clients/[^"]*/${form}">(.*?)</form>`, 's').exec(page)?.[1] ?? '').match(
    /<input type="radio" name="consent"[^>]*>/g,
  ) ?? [];

const sendPolicy = ({ browser }: TestUser, client_id: string, policy: object) =>
  browser.patch(`/v1/admin/clients/${client_id}/policy`, policy);

test('the reviewer of a client chooses whether users are asked for consent', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const owner = await signet.signedInUser();
  const { client_id } = await signet.registerClient({ owner, approved: false });
  const status = async () => (await signet.deps.clients.find(client_id))?.status;
  const path = `/admin/clients/${client_id}`;

  const page = await pageOf(admin, client_id);
  const radios = consentRadios(page, 'approve');
  assert.equal(radios.length, 2);
  assert.match(radios[0] ?? '', /value="required"/, 'what is recommended comes first');
  for (const radio of radios) {
    assert.doesNotMatch(radio, /checked/);
    assert.match(radio, / required/);
  }
  assert.match(page, sentence('admin.clients.consent.required'));
  assert.match(page, sentence('admin.clients.consent.hint'));

  const form = { revision: '1', 'scope:openid': 'on', refresh_retry_window: '0' };
  for (const wrong of [form, { ...form, consent: 'maybe' }]) {
    const answer = await admin.browser.post(`${path}/approve`, wrong);
    assert.equal(answer.status, 400);
    assert.match(answer.text, sentence('problem.client.consent'));
    assert.equal(await status(), 'pending_review');
  }
  assert.equal((await admin.browser.post(`${path}/approve`, { ...form, consent: 'required' })).status, 303);
  assert.equal((await signet.deps.clients.find(client_id))?.consent, 'required');

  // An edit is another review: its form has no default either, and the policy can be changed beside it.
  await owner.browser.patch(`/v1/oauth/clients/${client_id}`, { name: 'Renamed' });
  const changed = await pageOf(admin, client_id);
  assert.ok(consentRadios(changed, 'approve').every((radio) => !radio.includes('checked')));
  assert.deepEqual(
    consentRadios(changed, 'policy').map((radio) => [/value="(\w+)"/.exec(radio)?.[1], radio.includes('checked')]),
    [
      ['required', true],
      ['skip', false],
    ],
  );
  assert.equal((await admin.browser.post(`${path}/approve`, { ...form, revision: '2' })).status, 400);

  const registration = { name: 'Desk', client_type: 'public', redirect_uris: ['https://rp.test/desk'] };
  const operator = { owner_user_id: null, caller: { actor: 'cli' } } as const;
  const { client: desk } = await registerByOperator(signet.deps, operator, readRegistration(registration));
  const preselected = consentRadios(await pageOf(admin, desk.client_id), 'approve');
  assert.deepEqual(
    preselected.map((radio) => radio.includes('checked')),
    [false, true],
    'a first-party client keeps its default',
  );
});

testSignet('the policy of an approved client can be changed at any time, as an act of its own', async ({ signet }) => {
  const admin = await administrator(signet);
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ approved: false });
  const { client_id } = client;
  const refused = await sendPolicy(admin, client_id, { consent: 'required' });
  assert.deepEqual(
    [refused.status, refused.json?.error, refused.json?.current_status],
    [409, 'invalid_state', 'pending_review'],
  );

  const approved = await admin.browser.postJson(`/v1/admin/clients/${client_id}/approve`, { revision: 1 });
  assert.deepEqual(
    [approved.status, approved.json?.consent, approved.json?.refresh_retry_window],
    [200, 'skip', 0],
    'the specified default, named in the answer',
  );
  const asked = async () => redirectedTo(await user.browser.get(client.authorizePath())).has('request');
  assert.equal(await asked(), false, 'a session is answered with a code');

  const changed = await sendPolicy(admin, client_id, { consent: 'required' });
  assert.deepEqual(
    [changed.status, changed.json?.consent, changed.json?.refresh_retry_window, changed.json?.revision],
    [200, 'required', 0, 1],
  );
  assert.equal(await asked(), true, 'the next authorization asks');
  const path = `/admin/clients/${client_id}`;
  const saved = await admin.browser.post(`${path}/policy`, { consent: 'required', refresh_retry_window: '30' });
  assert.equal(saved.location, `${path}?done=policy`);
  assert.match((await admin.browser.get(`${path}?done=policy`)).text, sentence('admin.clients.done.policy'));
  assert.equal((await sendPolicy(admin, client_id, { refresh_retry_window: 30 })).status, 200, 'no change');
  const emptied = await admin.browser.post(`${path}/policy`, { consent: 'required', refresh_retry_window: ' ' });
  assert.equal(emptied.status, 400, 'a field that was emptied switches nothing off');

  const algorithms = async () => {
    const { id_token } = await user.obtainTokens(client);
    return decodeProtectedHeader(id_token).alg;
  };
  await sendPolicy(admin, client_id, { consent: 'skip' });
  assert.equal(await algorithms(), 'EdDSA');
  const form = { consent: 'skip', refresh_retry_window: '30', id_token_signed_response_alg: 'RS256' };
  assert.equal((await admin.browser.post(`${path}/policy`, form)).status, 303);
  assert.equal(await algorithms(), 'RS256');
  assert.match(await pageOf(admin, client_id), /value="RS256" required checked/);

  for (const wrong of [
    {},
    { consent: 'maybe' },
    { id_token_signed_response_alg: 'none' },
    { refresh_retry_window: 61 },
    { consent: 'skip', name: 'X' },
  ]) {
    const answer = await sendPolicy(admin, client_id, wrong);
    assert.deepEqual([answer.status, answer.json?.error], [400, 'invalid_request'], JSON.stringify(wrong));
  }
  assert.equal((await admin.browser.post(`${path}/policy`, { refresh_retry_window: '61' })).status, 400);
  assert.equal((await sendPolicy(admin, 'cl_unknown', { consent: 'skip' })).status, 404);
  assert.equal((await sendPolicy(user, client_id, { consent: 'skip' })).status, 403);

  const events = await signet.auditLog({ target: client_id, action: 'client.policy_changed' });
  const actor = `user:${admin.user_id}`;
  assert.deepEqual(
    events
      .toReversed()
      .map((event) => [event.actor, JSON.parse(event.before_state ?? ''), JSON.parse(event.after_state ?? '')]),
    [
      [actor, { consent: 'skip' }, { consent: 'required' }],
      [actor, { refresh_retry_window: 0 }, { refresh_retry_window: 30 }],
      [actor, { consent: 'required' }, { consent: 'skip' }],
      // An edit of its owner that was begun before is out of date: it would set the algorithm back.
      [
        actor,
        { id_token_signed_response_alg: 'EdDSA', revision: 1 },
        { id_token_signed_response_alg: 'RS256', revision: 2 },
      ],
    ],
  );

  await admin.browser.postJson(`/v1/admin/clients/${client_id}/suspend`, { reason: 'Reported.' });
  assert.equal((await sendPolicy(admin, client_id, { refresh_retry_window: 0 })).status, 200, 'while suspended');
});

test('administrators do not change the policy of their own client; a lone administrator sees what to do', async (t) => {
  const signet = await startSignet(t);
  const alone = await administrator(signet);
  const { client_id } = await signet.registerClient({ owner: alone, approved: false });
  const waiting = await pageOf(alone, client_id);
  assert.doesNotMatch(waiting, /action="[^"]*\/approve"/, 'no form that could only fail');
  assert.match(waiting, sentence('admin.clients.cannot_approve.only_administrator'));
  assert.match(waiting, /signet admin invite/);
  assert.match(waiting, /SIGNET_SELF_APPROVAL=on/);
  const command = `signet clients approve ${client_id} --revision 1 --consent required`;
  assert.ok(waiting.includes(`<code id="client-command">${command}</code>`), 'as it can be pasted');

  const other = await administrator(signet);
  assert.match(await pageOf(alone, client_id), sentence('clients.own_approval'));
  assert.doesNotMatch(await pageOf(alone, client_id), sentence('admin.clients.cannot_approve.only_administrator'));
  assert.match(await pageOf(other, client_id), /action="[^"]*\/approve"/);
  await other.browser.postJson(`/v1/admin/clients/${client_id}/approve`, { revision: 1, consent: 'required' });
  assert.doesNotMatch(await pageOf(alone, client_id), /action="[^"]*\/policy"/);
  const refused = await sendPolicy(alone, client_id, { consent: 'skip' });
  assert.deepEqual([refused.status, refused.json?.error], [403, 'access_denied']);
  const form = await alone.browser.post(`/admin/clients/${client_id}/policy`, { consent: 'skip' });
  assert.equal(form.status, 403);
  assert.equal((await signet.deps.clients.find(client_id))?.consent, 'required');

  const accomplice = await signet.newUser();
  await changeRole(signet.deps, { actor: `user:${alone.user_id}` }, accomplice.user_id, 'admin');
  await accomplice.browser.post('/signin', { username: accomplice.email, password: accomplice.password });
  assert.equal((await sendPolicy(accomplice, client_id, { consent: 'skip' })).status, 403);
  assert.match(
    await pageOf(accomplice, client_id),
    sentence('clients.new_administrator', { when: '2027-01-16 08:00 UTC' }),
  );

  const relaxed = await startSignet(t, { env: { SIGNET_SELF_APPROVAL: 'on' } });
  const both = await administrator(relaxed);
  const own = await relaxed.registerClient({ owner: both });
  assert.equal((await sendPolicy(both, own.client_id, { consent: 'required' })).status, 200);
});

test('a retry window is proposed to the reviewer of what refreshes in parallel, who decides', async (t) => {
  const signet = await startSignet(t);
  const admin = await administrator(signet);
  const owner = await signet.signedInUser();
  const fieldOf = async (client_id: string) => {
    const page = await pageOf(admin, client_id);
    return [
      /id="approve-retry"[^>]* value="(\d+)"/.exec(page)?.[1],
      sentence('admin.clients.retry.proposed', { seconds: 10 }).test(page),
    ];
  };
  const register = (options: object) => signet.registerClient({ owner, approved: false, ...options });

  const { client_id } = await register({ library: 'oauth2-proxy' });
  assert.deepEqual(await fieldOf(client_id), ['10', true]);
  for (const options of [{}, { library: 'authlib' }, { library: 'oauth2-proxy', allowed_scopes: ['openid'] }]) {
    assert.deepEqual(await fieldOf((await register(options)).client_id), ['0', false], JSON.stringify(options));
  }

  // The API stays strict unless the reviewer says otherwise, and a decision stands when the next change is reviewed.
  const approval = { revision: '1', consent: 'required', 'scope:offline_access': 'on', refresh_retry_window: '0' };
  assert.equal((await admin.browser.post(`/admin/clients/${client_id}/approve`, approval)).status, 303);
  assert.equal((await signet.deps.clients.find(client_id))?.refresh_retry_window, 0);
  await owner.browser.patch(`/v1/oauth/clients/${client_id}`, { name: 'Renamed' });
  assert.deepEqual(await fieldOf(client_id), ['0', true]);
  await owner.browser.patch(`/v1/oauth/clients/${client_id}`, { library: 'spring-security-7' });
  assert.deepEqual(await fieldOf(client_id), ['10', true]);
});
