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
  const end = async (path: string) => {
    const answer = await administrator.browser.delete(path);
    assert.equal(answer.status, 204);
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
  await mailbox.next(user.email, sentence('mail.grant_ended.subject', { app: 'Notebook' }));

  await end(`/v1/admin/users/${user.user_id}/sessions/${(await firstOf('sessions', user)).session_id}`);
  await mailbox.next(user.email, sentence('mail.session_ended.subject'));
  const signOut = await administrator.browser.postJson(`/v1/admin/users/${user.user_id}/sign-out`, {});
  assert.ok(signOut.status < 300, signOut.text);
  await mailbox.next(user.email, sentence('mail.signed_out.subject'));

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
