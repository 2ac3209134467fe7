import { requireLink, spentLink } from '../../accounts/one-time-links/link.ts';
import { type OneTimeLink, spendLink } from '../../accounts/one-time-links/store.ts';
import { findUser, isReachableAt, lockUser, markEmailVerified } from '../../accounts/store.ts';
import type { User } from '../../accounts/user.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { mailTo } from '../../platform/mail/outbox.ts';
import { setPassword } from '../credentials/passwords.store.ts';
import type { Deps } from '../deps.ts';
import { endPasswordAccess, hashNewPassword } from '../passwords/change-password.ts';
import { otherSignInMethodsOf, otherSignInMethodsText } from './other-sign-in-methods.ts';

/** @throws {RequestError} `invalid_request` when the link is over, or its account is disabled or moved to another address. */
export async function requireResetLink(deps: StoreDeps, token: string): Promise<{ link: OneTimeLink; user: User }> {
  const link = await requireLink(deps, token, ['password_reset']);
  const user = link.user_id === null ? undefined : await findUser(deps.db, link.user_id);
  if (!user || user.disabled_at !== null || user.email !== link.email) throw spentLink('password_reset');
  return { link, user };
}

/**
 * Uses the link up and sets the password. Everything that was open ends, this browser included: what comes next is a
 * sign-in, which asks for the second factor of whoever has one. It sets a first password, too: the mailbox is the
 * recovery authority of every account here, and whoever takes it over could ask for a password in other ways as well
 * (docs/decisions). Passkeys and providers stay, and the mail lists them: to remove one takes a session that was
 * confirmed with the strongest factor of the account, which a mailbox is not.
 * @throws {RequestError} `invalid_request`, with `fields` when the link is still good and the password is not.
 */
export async function resetPassword(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'passwords' | 'mail' | 'grants'>,
  token: string,
  { password, address }: { password: string; address: string },
): Promise<string> {
  const { link, user } = await requireResetLink(deps, token);
  const { user_id, email } = user;
  const password_hash = await hashNewPassword(deps, user, password);
  const others = otherSignInMethodsText(deps, await otherSignInMethodsOf(deps, user_id), user.locale);
  const at = now(deps);
  const event = { action: 'password.reset', actor: `user:${user_id}`, target: user_id, address } as const;
  const { statement } = auditEvent(event, at);
  const done = await deps.db.change({
    lock: lockUser(user_id),
    require: { address: isReachableAt(user_id, email) },
    run: {
      link: mayConflict(spendLink(link)),
      password: setPassword(user_id, password_hash, at),
      address: markEmailVerified(user_id, email, at), // the link was sent there
      access: endPasswordAccess(deps, user),
      mails: mailTo(deps, user, 'password_reset', { address, others }),
      event: statement,
    },
  });
  if (!done.ok) throw spentLink('password_reset');
  return user_id;
}
