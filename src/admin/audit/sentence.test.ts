import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditActions } from '../../audit/actions.ts';
import { locales, translatePlain } from '../../platform/i18n/translate.ts';
import { translator, type View } from '../../platform/pages/view.ts';
import type { NamedEvent } from './names.ts';
import { actionLabel, eventSentence } from './sentence.ts';

const names = new Map([
  ['usr_1', { name: 'Olivia <Hartmann>' }],
  ['usr_2', { name: 'Mia Rossi' }],
  ['cl_1', { name: 'Quarry' }],
  ['cl_9', { name: 'Old thing', isGone: true as const }],
]);
const viewIn = (locale: string) =>
  ({ locale, t: translator(locale), branding: { name: 'Signet' }, may: () => true }) as unknown as View;
const event = (of: Partial<NamedEvent>): NamedEvent => ({
  action: 'client.approved',
  actor: 'user:usr_1',
  target: 'cl_1',
  reason: null,
  before: null,
  after: null,
  ...of,
});
const words = (of: Partial<NamedEvent>, locale = 'en') =>
  eventSentence(viewIn(locale), names, event(of))
    .toString()
    .replaceAll(/<[^>]+>/g, '');

test('every action has a sentence and a label in every language, which name who did it or whom it befell', () => {
  for (const locale of locales) {
    for (const action of auditActions) {
      const after = { user_id: 'usr_2', client_id: 'cl_1', role: 'admin' };
      const said = words({ action, after, target: 'usr_2' }, locale);
      assert.match(said, /Olivia &lt;Hartmann&gt;|Mia Rossi/, `${locale}: ${action}`);
      assert.doesNotMatch(said, /[{}]|undefined|\bnull\b/, `${locale}: ${action}`);
      assert.ok(translatePlain(locale, { key: actionLabel(action) }).length > 5, `${locale}: ${action}`);
    }
  }
});

test('one reads of oneself in other words than of another', () => {
  const session = { action: 'session.ended', target: 'ses_1', after: { user_id: 'usr_1' } };
  assert.equal(words({}), 'Olivia &lt;Hartmann&gt; approved Quarry');
  assert.equal(words({ ...session, reason: 'sign_out' }), 'Olivia &lt;Hartmann&gt; signed out');
  assert.equal(
    words({ ...session, after: { user_id: 'usr_2' } }),
    'Olivia &lt;Hartmann&gt; ended a session of Mia Rossi',
  );
  assert.equal(words({ action: 'client.suspended', actor: 'cli' }), 'The operator suspended Quarry');
  assert.equal(
    words({ action: 'webhook.disabled', actor: 'system', target: 'wh_1' }),
    'Signet disabled the webhook wh_1',
  );
});

test('what was deleted stays readable, and so does what another version or an attacker has written', () => {
  assert.equal(words({ target: 'cl_9' }), 'Olivia &lt;Hartmann&gt; approved Old thing (deleted client)');
  assert.equal(words({ actor: 'user:usr_9' }), 'deleted account usr_9 approved Quarry');
  assert.equal(words({ action: 'comet.seen' }), 'Olivia &lt;Hartmann&gt;: comet.seen');
  for (const after of [7, 'text', [], { user_id: 7 }, { user_id: '<b>', client_id: {} }]) {
    assert.match(words({ action: 'grant.revoked', target: null, after }), /^Olivia/, JSON.stringify(after));
  }
});
