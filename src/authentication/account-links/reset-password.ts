import { linkSeconds, newLink, requireLink, spentLink } from '../../accounts/links.ts';
import { mayMailTo } from '../../accounts/mail-limits.ts';
import {
  endLinksGivenElsewhere,
  findUser,
  findUserByEmail,
  hasInvitedAdministrator,
  insertAccountLink,
  isDisabled,
  isReachableAt,
  lockUser,
  markEmailVerified,
  type OneTimeLink,
  partOfEmail,
  type User,
} from '../../accounts/statements.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict, type Requirements } from '../../platform/db/change.ts';
import { inOrder } from '../../platform/db/db.ts';
import { useOnce } from '../../platform/db/used-once.ts';
import type { MailDeps, PlacementDeps, StoreDeps } from '../../platform/deps.ts';
import { invalidState } from '../../platform/errors.ts';
import { chooseLocale, type MessageDescriptor, translatePlain } from '../../platform/i18n/translate.ts';
import { bucketOf, newUserId } from '../../platform/ids.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { listIdentities } from '../credentials/identities.store.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import { setPassword } from '../credentials/passwords.store.ts';
import type { Deps } from '../deps.ts';
import { endPasswordAccess, hashNewPassword, invitationsForMail } from '../passwords/change-password.ts';
import { type LinkRequest, limitMailRequests } from './sign-up.ts';

/**
 * Sends the only valid link that resets the password, to the address as the account spells it: two spellings that fold
 * to one may be two mailboxes. For an unknown address and a disabled account the same statements run, and their
 * conditions store neither link nor mail.
 * @throws {RequestError} `invalid_request` for an invalid address; `rate_limited` per IP address.
 */
export async function requestPasswordReset(deps: MailDeps & PlacementDeps, request: LinkRequest): Promise<void> {
  const { email, locale, address } = request;
  await limitMailRequests(deps, request);
  const user = await findUserByEmail(deps, email);
  const part = user ? deps.db.of(user.user_id) : partOfEmail(deps, email);
  if (!(await mayMailTo(deps, 'reset', email, part))) return;
  const to = { email: user?.email ?? email.trim(), name: user?.name ?? null, locale: user?.locale ?? locale };
  const bucket = user ? bucketOf(user.user_id) : deps.placement.bucketOfEmail(email);
  const { link, url } = newLink(deps, bucket, { ...request, purpose: 'password_reset', email: to.email });
  const user_id = user?.user_id ?? newUserId(bucket);
  const values = { url, expires_at: link.expires_at, minutes: linkSeconds.password_reset / 60 };
  await inOrder(
    {
      in: part,
      run: {
        link: insertAccountLink({ ...link, user_id }, now(deps)),
        mails: mailTo(deps, to, 'reset', values, isDisabled(user_id, false)),
      },
    },
    {
      in: deps.db.near(addressKey(address)),
      run: { event: unauthenticatedEvent(deps, { action: 'password.reset_asked', target: user?.user_id, address }) },
    },
  );
}

/**
 * Creates the only valid link of its kind, for an administrator to hand to the user, who is notified. It proves no address.
 * One that the user has requested by mail stays valid: else any visitor could replace the administrator's.
 * It ends with the access of that administrator, as `endLinksGivenBy` says.
 * @param require behind a lock of the user's row.
 * @throws {RequestError} `invalid_state` for a disabled user and when a requirement is not met; `rate_limited`.
 */
export async function createResetLink(
  deps: MailDeps,
  caller: Caller,
  { user, reason, require }: { user: User; reason: string | undefined; require: Requirements },
): Promise<{ url: string; expires_at: number }> {
  const { user_id, email } = user;
  await windowLimit(deps, { name: 'reset-link', limit: 5, windowSeconds: 3600 }).take(user_id); // a mail each
  const { link, url } = newLink(deps, bucketOf(user_id), {
    purpose: 'admin_password_reset',
    email,
    givenBy: caller.actor,
  });
  const { expires_at } = link;
  const at = now(deps);
  const event = {
    action: 'password.reset_link_created',
    ...caller,
    target: user_id,
    reason,
    after: { expires_at },
  } as const;
  const values = { minutes: linkSeconds.admin_password_reset / 60 };
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { ...require, address: isReachableAt(user_id, email) },
    run: {
      link: insertAccountLink({ ...link, user_id }, at),
      mails: mailTo(deps, user, 'reset_link_created', values),
      event: auditEvent(event, at).statement,
    },
  });
  if (!done.ok) throw invalidState((await findUser(deps.db, user_id))?.disabled_at == null ? 'changed' : 'disabled');
  return { url, expires_at };
}

/** @throws {RequestError} `invalid_request` if the link is no longer valid, or its account is disabled or has another address. */
export async function requireResetLink(deps: StoreDeps, token: string): Promise<{ link: OneTimeLink; user: User }> {
  const link = await requireLink(deps, token, ['password_reset', 'admin_password_reset']);
  const user = link.user_id === null ? undefined : await findUser(deps.db, link.user_id);
  if (!user || user.disabled_at !== null || user.email !== link.email) throw spentLink('password_reset');
  return { link, user };
}

/**
 * Consumes the link and sets the password, also a first one: the mailbox is the recovery authority of every account
 * (docs/decisions), and an administrator where there is none. All access ends, this browser's included; the sign-in that follows asks for a second factor. Passkeys
 * and providers remain, and the mail lists them: to remove one requires a session that was confirmed with the strongest
 * factor of the account, which a mailbox is not.
 * @throws {RequestError} `invalid_request`, with `fields` if the link is valid and the password is not.
 */
export async function resetPassword(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'passwords' | 'mail' | 'grants' | 'providers'>,
  token: string,
  { password, address }: { password: string; address: string },
): Promise<string> {
  const { link, user } = await requireResetLink(deps, token);
  const { user_id, email } = user;
  const hashed = await hashNewPassword(deps, user, { password, address });
  const others = await otherMethodsText(deps, user);
  const at = now(deps);
  const invitations = invitationsForMail(await hasInvitedAdministrator(deps.db, user_id, at));
  const event = { action: 'password.reset', actor: `user:${user_id}`, target: user_id, address } as const;
  const wasMailed = link.purpose === 'password_reset';
  await endLinksGivenElsewhere(deps.db, user_id);
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { address: isReachableAt(user_id, email) },
    run: {
      link: mayConflict(useOnce(link)),
      password: setPassword(user_id, hashed, at),
      address: wasMailed ? markEmailVerified(user_id, email, at) : undefined,
      access: endPasswordAccess(deps, user),
      mails: mailTo(deps, user, wasMailed ? 'password_reset' : 'password_reset_admin', {
        address,
        others,
        ...invitations,
      }),
      event: auditEvent(event, at).statement,
    },
  });
  if (!done.ok) throw spentLink('password_reset');
  return user_id;
}

/**
 * A sentence for each sign-in method that remains after a reset, oldest first: it may be an attacker's, or all that the
 * user has.
 * @param day formats a time in Unix seconds.
 */
export async function describeOtherMethods(
  { db, providers }: Pick<Deps, 'db' | 'providers'>,
  user_id: string,
  day: (at: number) => string,
): Promise<MessageDescriptor[]> {
  const [configured, passkeys, identities] = await Promise.all([
    providers.read(),
    listPasskeys(db, user_id),
    listIdentities(db, user_id),
  ]);
  const labelOf = (issuer: string) => configured.ofIssuer(issuer)?.label;
  return [
    ...passkeys.map(
      ({ name, created_at }): MessageDescriptor => ({
        key: 'reset.stays.passkey',
        values: { passkey: name, day: day(created_at) },
      }),
    ),
    ...identities.map(
      ({ provider, issuer, email, subject, linked_at }): MessageDescriptor => ({
        key: 'reset.stays.provider',
        values: { provider: labelOf(issuer) ?? provider, account: email ?? subject, day: day(linked_at) },
      }),
    ),
  ];
}

/** The paragraphs of a mail about them, with an empty line after; empty if there are none. */
async function otherMethodsText(
  deps: Pick<Deps, 'db' | 'config' | 'providers'>,
  { user_id, locale }: Pick<User, 'user_id' | 'locale'>,
): Promise<string> {
  const sentences = await describeOtherMethods(deps, user_id, (at) => new Date(at * 1000).toISOString().slice(0, 10));
  if (sentences.length === 0) return '';
  const reader = chooseLocale(deps.config.languages, locale);
  const translate = (sentence: MessageDescriptor) => translatePlain(reader, sentence);
  const lines = sentences.map((sentence) => `- ${translate(sentence)}`);
  const [security, service] = [`${deps.config.baseUrl}/account/security`, deps.config.brand.name];
  const how = translate({ key: 'mail.reset_stays', values: { security, service } });
  return `${[translate({ key: 'reset.stays' }), ...lines].join('\n')}\n${how}\n\n`;
}
