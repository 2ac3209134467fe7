import { deleteReservations, readHandle, reserveHandle, takenHandle } from '../../accounts/handles.ts';
import {
  deleteInvitations,
  insertSignUpLink,
  linkSeconds,
  listInvitations,
  newLink,
  requireLink,
  spendInvitations,
  spentLink,
} from '../../accounts/links.ts';
import { mayMailTo } from '../../accounts/mail-limits.ts';
import { findUserByEmail } from '../../accounts/users.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { cutPage, decodeCursor } from '../../platform/db/slices.ts';
import type { MailDeps, StoreDeps } from '../../platform/deps.ts';
import { emailProblem } from '../../platform/email-address.ts';
import { fieldProblem, invalidFields, notFound, takenField } from '../../platform/errors.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { mailToAddress } from '../../platform/mail/outbox.ts';
import type { Deps } from '../deps.ts';
import { passwordLimits } from '../passwords/password-limits.ts';
import { createUser } from './create-user.ts';

type Wanted = {
  email: string;
  locale: Locale | null;
  reason: string | undefined;
  /** Of the account. It is reserved until the invitation expires. */
  preferred_username?: string;
  replace?: boolean;
};

const purposes = ['invitation', 'mailed_invitation'] as const;

/**
 * Invites the owner of an address to create an account. The administrator is handed one link, the mailbox another: only the
 * latter proves the address. The account that the first of them creates makes the other one invalid.
 * @param wanted.replace revokes earlier invitations of the address.
 * @returns the link, which cannot be read again, and whether the other one is mailed.
 * @throws {RequestError} `invalid_request` for an invalid address or username; `invalid_state` for an address that has
 * an account, and for a username that is taken.
 */
export async function inviteUser(
  deps: MailDeps,
  caller: Caller,
  { email, locale, reason, preferred_username: username, replace = false }: Wanted,
): Promise<{ url: string; expires_at: number; mailed: boolean }> {
  const problem = emailProblem(email);
  if (problem) throw invalidFields([fieldProblem('email', { key: problem })]);
  const handle = username === undefined ? undefined : readHandle(deps.config, username);
  const shown = newLink(deps, { purpose: 'invitation', email, preferred_username: handle });
  const sent = newLink(deps, { purpose: 'mailed_invitation', email, preferred_username: handle });
  const { expires_at } = shown.link;
  const mailed = deps.mail.works && (await mayMailTo(deps, 'invitation', email));
  const at = now(deps);
  const fields = handle !== undefined && { fields: ['preferred_username'] };
  const after = { email: shown.link.email, expires_at, ...fields };
  const event = { action: 'user.invited', ...caller, reason, after } as const;
  const values = { url: sent.url, expires_at, days: linkSeconds.mailed_invitation / 86_400 };
  const done = await deps.db.change({
    run: {
      earlier: replace
        ? [spendInvitations(shown.link.email), deleteInvitations(shown.link.email), deleteReservations(email)]
        : [],
      link: mustChange(insertSignUpLink(shown.link, at)),
      handle:
        handle === undefined ? undefined : mustChange(reserveHandle(email, handle, { until: expires_at, now: at })),
      mailedLink: mailed ? insertSignUpLink(sent.link, at) : undefined,
      mail: mailed ? mailToAddress(deps, { email: sent.link.email, locale }, 'invitation', values) : undefined,
      event: auditEvent(event, at).statement,
    },
  });
  if (!done.ok) throw done.failed === 'handle' ? takenHandle() : takenField('email', { key: 'problem.email.taken' });
  return { url: shown.url, expires_at, mailed };
}

export type PendingInvitation = {
  email: string;
  preferred_username: string | null;
  invited_at: number;
  expires_at: number;
};

/**
 * Invitations that can still be used, the newest first. A page may have fewer than `limit` although there is a next one.
 * @param search.after `next` of the previous page.
 * @throws {RequestError} `invalid_request` for an `after` that is not from a page.
 */
export async function pendingInvitations(
  deps: StoreDeps,
  { after, limit = 50 }: { after?: string; limit?: number },
): Promise<{ invitations: PendingInvitation[]; next: string | undefined }> {
  const found = await listInvitations(deps.db, now(deps), { after: decodeCursor('after', after), limit: limit + 1 });
  const { rows, next } = cutPage(found, limit, ({ created_at, token_hash }) => ({ at: created_at, id: token_hash }));
  const open = await Promise.all(
    rows.map(async ({ email, preferred_username, created_at, expires_at }) => {
      // The other link of the two may have created the account.
      if (email === null || (await findUserByEmail(deps.db, email))) return [];
      return [{ email, preferred_username, invited_at: created_at, expires_at }];
    }),
  );
  return { invitations: open.flat(), next };
}

/**
 * Revokes every invitation of an address, spelled as it was invited.
 * @throws {RequestError} `not_found` if there is none.
 */
export async function revokeInvitation(
  deps: StoreDeps,
  caller: Caller,
  { email, reason }: { email: string; reason: string | undefined },
): Promise<void> {
  const event = { action: 'user.invitation_revoked', ...caller, reason, after: { email } } as const;
  const done = await deps.db.change({
    run: {
      spent: mustChange(spendInvitations(email)),
      deleted: [deleteInvitations(email), deleteReservations(email)],
      event: auditEvent(event, now(deps)).statement,
    },
  });
  if (!done.ok) throw notFound();
}

/** @throws {RequestError} `invalid_request` if the link is no longer valid, or its address has an account by now. */
export async function requireInvitation(deps: StoreDeps, token: string) {
  const link = await requireLink(deps, token, purposes);
  if (await findUserByEmail(deps.db, link.email)) throw spentLink('invitation');
  return link;
}

/**
 * Consumes the link and creates the account, both or neither.
 * @param acceptance with the IP address of the requester.
 * @returns the id of the user.
 * @throws {RequestError} `invalid_request`, with `fields` if the link is valid and the input is not; `invalid_state` if the
 * address has got an account meanwhile.
 */
export async function acceptInvitation(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'passwords'>,
  token: string,
  { address, ...acceptance }: { name: string; password: string; locale: Locale; address: string },
): Promise<string> {
  const link = await requireInvitation(deps, token);
  const { email, preferred_username } = link;
  const account = {
    ...acceptance,
    email,
    role: 'user',
    emailVerified: link.purpose === 'mailed_invitation',
    preferredUsername: preferred_username ?? undefined,
  } as const;
  // Of guesses at this address before it had an account; and the username is the account's now.
  const also = [...passwordLimits(deps).reset(email), deleteReservations(email)];
  return createUser(deps, account, { address }, { link, also, spent: () => spentLink('invitation') });
}
