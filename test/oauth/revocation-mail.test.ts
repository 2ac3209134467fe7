import assert from 'node:assert/strict';
import { suspendClient } from '../../src/clients/review-client.ts';
import { sentence } from '../support/messages.ts';
import { assertRefused, tokensOf } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

testSignet('a user gets a mail about a grant that others have revoked', { mail: true }, async ({ signet, mailbox }) => {
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient({ name: 'Notebook', owner: administrator });
  const user = await signet.signedInUser();
  const end = async (path: string, reason?: string) => {
    const answer = await administrator.browser.delete(path, reason && { reason });
    assert.equal(answer.status, 204, answer.text);
  };
  const firstOf = async (what: 'grants' | 'sessions', { user_id }: TestUser) => {
    const { json } = await administrator.browser.get(`/v1/admin/users/${user_id}/${what}`);
    return (json as Record<string, { grant_id: string; session_id: string }[]>)[what]![0]!;
  };

  const { refresh_token } = await user.obtainTokens(client);
  tokensOf(await client.refresh(refresh_token));
  for (let uses = 0; uses < 3; uses += 1) {
    assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
  }
  const replayed = await mailbox.next(
    user.email,
    sentence('mail.grant_replayed.subject', { app: 'Notebook', service: 'Signet' }),
  );
  assert.match(replayed.text, sentence('mail.grant_replayed.text'));
  assert.ok(!replayed.text.includes(refresh_token));

  const code = await user.authorize(client);
  tokensOf(await client.redeem(code));
  assertRefused(await client.redeem(code), 400, 'invalid_grant');
  await mailbox.next(user.email, sentence('mail.grant_replayed.subject', { app: 'Notebook' }));

  await user.obtainTokens(client);
  await end(`/v1/admin/grants/${(await firstOf('grants', user)).grant_id}`);
  const ended = await mailbox.next(user.email, sentence('mail.grant_ended.subject', { app: 'Notebook' }));
  assert.match(ended.text, sentence('mail.grant_ended.text', { app: 'Notebook', has_reason: 'no' }));
  // Whatever an administrator writes, the user reads it.
  const reason = "It's {reason} of <Ann>";
  const words = { has_reason: 'yes', reason };
  await user.obtainTokens(client);
  await end(`/v1/admin/grants/${(await firstOf('grants', user)).grant_id}`, reason);
  const revoked = await mailbox.next(user.email, sentence('mail.grant_ended.subject', { app: 'Notebook' }));
  assert.match(revoked.text, sentence('mail.grant_ended.text', { app: 'Notebook', ...words }));
  assert.equal((await signet.auditLog({ action: 'grant.revoked' }))[0]?.reason, reason);

  await end(`/v1/admin/users/${user.user_id}/sessions/${(await firstOf('sessions', user)).session_id}`, reason);
  const session = await mailbox.next(user.email, sentence('mail.session_ended.subject'));
  assert.match(session.text, sentence('mail.session_ended.text', words));
  assert.equal((await signet.auditLog({ action: 'session.ended' }))[0]?.reason, reason);
  await user.signIn();
  const signOut = await administrator.browser.postJson(`/v1/admin/users/${user.user_id}/sign-out`, { reason });
  assert.ok(signOut.status < 300, signOut.text);
  const everywhere = await mailbox.next(user.email, sentence('mail.signed_out.subject'));
  assert.match(everywhere.text, sentence('mail.signed_out.text', words));
  const wordless = await administrator.browser.delete('/v1/admin/grants/gr_unknown', { reason: ' ' });
  assert.equal(wordless.status, 400);

  // What ends thousands at once, and what the user or the client does, causes no mail.
  const other = await signet.signedInUser();
  await other.obtainTokens(client);
  await suspendClient(signet.deps, { client_id: client.client_id, caller: { actor: 'cli' } }, 'Phishing.');
  await signet.deps.mail.deliver();
  assert.deepEqual(
    mailbox.mails.filter(({ to }) => to === other.email),
    [],
  );
  assert.equal(
    mailbox.mails.filter(
      ({ to, subject }) => to === user.email && sentence('mail.grant_replayed.subject').test(subject),
    ).length,
    2,
  );
});

testSignet('such mails to one user are bounded', { mail: true }, async ({ signet, mailbox }) => {
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  for (let grants = 0; grants < 7; grants += 1) {
    const code = await user.authorize(client);
    tokensOf(await client.redeem(code));
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
  }
  for (let runs = 0; runs < 3; runs += 1) await signet.deps.mail.deliver();
  assert.equal(mailbox.mails.filter(({ to }) => to === user.email).length, 5);
});
