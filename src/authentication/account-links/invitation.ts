import { isAdministrator } from '../../accounts/administrators.ts';
import { readHandle, takenHandle } from '../../accounts/handles.ts';
import { linkSeconds, newLink, requireLink, spentLink } from '../../accounts/links.ts';
import { mayMailTo } from '../../accounts/mail-limits.ts';
import {
  claimOfEmail,
  claimOfHandle,
  deleteInvitations,
  deleteReservations,
  deleteReservationsElsewhere,
  findUserByEmail,
  insertSignUpLink,
  isActiveAdministratorNow,
  isInvitedBy,
  listAdministrators,
  listInvitations,
  lockAdministrators,
  partOfEmail,
  partOfHandle,
  reserveHandle,
  spendInvitations,
  takeReservationBack,
} from '../../accounts/statements.ts';
import { type Actor, auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { inOrder } from '../../platform/db/db.ts';
import { cutPage, decodeCursor } from '../../platform/db/slices.ts';
import type { MailDeps, PlacementDeps, StoreDeps } from '../../platform/deps.ts';
import { emailProblem } from '../../platform/email-address.ts';
import {
  fieldProblem,
  invalidFields,
  notFound,
  type RequestError,
  refusal,
  takenField,
} from '../../platform/errors.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import type { Agreement } from '../../platform/pages/brand.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';
import type { Deps } from '../deps.ts';
import { resetPasswordLimits } from '../passwords/password-limits.ts';
import { createUser } from './create-user.ts';

type Wanted = {
  email: string;
  locale: Locale | null;
  reason?: string | undefined;
  /** The name of the account, reserved until the invitation expires. */
  preferred_username?: string;
  /** The name on the account until its user chooses another one. */
  name?: string;
  role?: 'user' | 'admin';
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
  deps: MailDeps & PlacementDeps,
  caller: Caller,
  { email, locale, reason, preferred_username: username, name, role = 'user', replace = false }: Wanted,
): Promise<{ url: string; expires_at: number; mailed: boolean }> {
  const problem = emailProblem(email);
  const problems = [
    ...(problem ? [fieldProblem('email', { key: problem })] : []),
    ...(name !== undefined && displayNameProblem(name) ? [fieldProblem('name', { key: 'problem.name' })] : []),
  ];
  if (problems.length > 0) throw invalidFields(problems);
  const handle = username === undefined ? undefined : readHandle(deps.config, username);
  const account = {
    ...{ email, preferred_username: handle, name: name === undefined ? undefined : normalizeName(name) },
    ...(role === 'admin' && { role, givenBy: caller.actor }),
  };
  const bucket = deps.placement.bucketOfEmail(email);
  const shown = newLink(deps, bucket, { purpose: 'invitation', ...account });
  const sent = newLink(deps, bucket, { purpose: 'mailed_invitation', ...account });
  const { expires_at } = shown.link;
  const mailed = deps.mail.works && (await mayMailTo(deps, 'invitation', email));
  const at = now(deps);
  const fields = handle !== undefined && { fields: ['preferred_username'] };
  const after = { email: shown.link.email, expires_at, ...fields, ...(role === 'admin' && { role }) };
  const why = reason === undefined ? undefined : readReason(reason);
  const event = { action: 'user.invited', ...caller, reason: why, after } as const;
  const values = { url: sent.url, expires_at, days: linkSeconds.mailed_invitation / 86_400 };
  const others = role === 'admin' ? await listAdministrators(deps.db) : [];
  const part = partOfEmail(deps, email);
  const partOfName = handle === undefined ? part : partOfHandle(deps.db, handle);
  if (replace) await deleteReservationsElsewhere(deps.db, partOfName, email);
  const [unclaimedName, unclaimedEmail] = await Promise.all([
    handle === undefined ? [] : deps.claims.unclaimed(claimOfHandle(deps.db, handle)),
    deps.claims.unclaimed(claimOfEmail(deps, email)),
  ]);
  const done = await inOrder(
    {
      in: partOfName,
      run: {
        reservations: replace ? deleteReservations(email) : undefined,
        handle:
          handle === undefined
            ? undefined
            : [mustChange(reserveHandle(email, handle, { until: expires_at, now: at })), ...unclaimedName],
      },
    },
    {
      in: part,
      run: {
        warnings: others.flatMap((one) => mailTo(deps, one, 'administrator_invited', { email: shown.link.email })),
        earlier: replace ? [spendInvitations(shown.link.email), deleteInvitations(shown.link.email)] : undefined,
        link: [mustChange(insertSignUpLink(shown.link, at)), ...unclaimedEmail],
        mailedLink: mailed ? insertSignUpLink(sent.link, at) : undefined,
        mail: mailed ? mailTo(deps, { email: sent.link.email, locale }, 'invitation', values) : undefined,
        event: auditEvent(event, at).statement,
      },
    },
  );
  if (done.ok) return { url: shown.url, expires_at, mailed };
  if (done.failed === 'handle') throw takenHandle();
  if (handle !== undefined && partOfName !== part) await partOfName.run(takeReservationBack(email, handle));
  throw takenField('email', { key: 'problem.email.taken' });
}

export type PendingInvitation = {
  email: string;
  preferred_username: string | null;
  name: string | null;
  role: 'user' | 'admin';
  invited_at: number;
  expires_at: number;
};

/**
 * Invitations that can still be used, the newest first. A page may have fewer than `limit` although there is a next one.
 * @param search.after `next` of the previous page.
 * @throws {RequestError} `invalid_request` for an `after` that is not from a page.
 */
export async function pendingInvitations(
  deps: StoreDeps & PlacementDeps,
  { after, limit = 50 }: { after?: string; limit?: number },
): Promise<{ invitations: PendingInvitation[]; next: string | undefined }> {
  const found = await listInvitations(deps.db, now(deps), { after: decodeCursor('after', after), limit: limit + 1 });
  const { rows, next } = cutPage(found, limit, ({ created_at, token_hash }) => ({ at: created_at, id: token_hash }));
  const open = await Promise.all(
    rows.map(async ({ email, preferred_username, name, role, created_at, expires_at }) => {
      // The other link of the two may have created the account.
      if (email === null || (await findUserByEmail(deps, email))) return [];
      return [{ email, preferred_username, name, role: role ?? 'user', invited_at: created_at, expires_at }];
    }),
  );
  return { invitations: open.flat(), next };
}

/**
 * Revokes every invitation of an address, spelled as it was invited.
 * @throws {RequestError} `not_found` if there is none.
 */
export async function revokeInvitation(
  deps: StoreDeps & PlacementDeps,
  caller: Caller,
  { email, reason }: { email: string; reason?: string | undefined },
): Promise<void> {
  const why = reason === undefined ? undefined : readReason(reason);
  const event = { action: 'user.invitation_revoked', ...caller, reason: why, after: { email } } as const;
  const part = partOfEmail(deps, email);
  const done = await part.change({
    run: {
      spent: mustChange(spendInvitations(email)),
      deleted: [deleteInvitations(email), deleteReservations(email)],
      event: auditEvent(event, now(deps)).statement,
    },
  });
  if (!done.ok) throw notFound();
  await deleteReservationsElsewhere(deps.db, part, email);
}

/**
 * @returns the link, with the role that it gives now: an administrator's only while who has invited is one.
 * @throws {RequestError} `invalid_request` if the link is no longer valid, or its address has an account by now.
 */
export async function requireInvitation(deps: StoreDeps & PlacementDeps, token: string) {
  const link = await requireLink(deps, token, purposes);
  if (await findUserByEmail(deps, link.email)) throw spentLink('invitation');
  const { invited_by: by } = link;
  const roleGrantedBy = by !== null && (await isAdministrator(deps, by)) ? (by as Actor) : undefined;
  return { ...link, role: roleGrantedBy === undefined ? ('user' as const) : ('admin' as const), roleGrantedBy };
}

const roleEnded = () =>
  refusal('invalid_state', { key: 'join.role_ended' }, { details: { current_status: 'role_ended' } });

/** The link is as good as before, for an ordinary account. */
export const isOfEndedRole = ({ details }: RequestError): boolean => details.current_status === 'role_ended';

type Acceptance = {
  name: string;
  password: string;
  locale: Locale;
  /** By name. */
  ownAttributes: Readonly<Record<string, unknown>>;
  agreedTo?: Agreement | undefined;
  address: string;
  expectsRole?: boolean;
};

/**
 * Consumes the link and creates the account, both or neither. It is an administrator's if it was invited as one, and if who has
 * invited still is one; all of them are notified.
 * @param acceptance with the IP address of the requester, and whether their page says that they become an administrator.
 * @returns the id of the user.
 * @throws {RequestError} `invalid_request`, with `fields` if the link is valid and the input is not; `invalid_state` if the
 * address has got an account meanwhile, and once, as {@link isOfEndedRole} tells, if the account would be an ordinary one by now.
 */
export async function acceptInvitation(
  deps: MailDeps & PlacementDeps & Pick<Deps, 'passwords' | 'attributes'>,
  token: string,
  { address, expectsRole, ...acceptance }: Acceptance,
): Promise<string> {
  const link = await requireInvitation(deps, token);
  const { email, preferred_username, role, roleGrantedBy } = link;
  if (expectsRole && role === 'user') throw roleEnded();
  const account = {
    ...acceptance,
    email,
    role,
    emailVerified: link.purpose === 'mailed_invitation',
    preferredUsername: preferred_username ?? undefined,
    roleGrantedBy,
  } as const;
  const others = roleGrantedBy === undefined ? [] : await listAdministrators(deps.db);
  const also = [
    ...resetPasswordLimits(email), // of guesses at this address before it had an account
    ...others.flatMap((one) => mailTo(deps, one, 'new_administrator', { email })),
  ];
  const inviter = roleGrantedBy?.startsWith('user:') ? roleGrantedBy.slice('user:'.length) : undefined;
  const permission = {
    in: deps.db.of(token),
    link,
    also,
    giver:
      inviter === undefined
        ? undefined
        : {
            in: deps.db.of(inviter),
            lock: lockAdministrators(), // of whom one is the inviter, whose row each end of access locks
            require: { inviter: isActiveAdministratorNow(inviter) },
          },
    require: inviter === undefined ? {} : { invited: isInvitedBy(link.token_hash, roleGrantedBy!) },
    reservations: deleteReservations(email), // the username is the account's now
    refusal: (failed: string) => (failed === 'inviter' || failed === 'invited' ? roleEnded() : spentLink('invitation')),
  };
  return createUser(deps, account, { address }, permission);
}
