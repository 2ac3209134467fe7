import { refuseAgainstAdministrator } from '../../accounts/administrators.ts';
import { readHandle, takenHandle } from '../../accounts/handles.ts';
import {
  claimsOfChange,
  claimsOfHandles,
  deleteLinksOfUser,
  deleteResetLinksOfUser,
  handleWrites,
  hasEmail,
  hasRole,
  lockUser,
  markEmailVerified,
  type Profile,
  replaceEmail,
  setProfile,
  type User,
} from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { attributesWrite } from '../../attributes/change-attributes.ts';
import type { Deps as AttributeDeps } from '../../attributes/deps.ts';
import { type ChangedValues, changeValues } from '../../attributes/values.ts';
import type { AuditAction } from '../../audit/actions.ts';
import { auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { resetPasswordLimits } from '../../authentication/passwords/password-limits.ts';
import { allOfClaimed, isTakenClaim } from '../../platform/claims.ts';
import { now } from '../../platform/clock.ts';
import type { MailDeps, PlacementDeps } from '../../platform/deps.ts';
import type { Edited } from '../../platform/edited.ts';
import { emailKey, emailProblem, readableEmail } from '../../platform/email-address.ts';
import { fieldProblem, invalidFields, invalidState, takenField } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';
import { refuseTakeover } from './refuse-takeover.ts';

type UserEdit = {
  name?: string;
  /** Null removes it. */
  preferred_username?: string | null;
  email?: string;
  /** Only ever true: that an address is verified is lost with the address alone. */
  email_verified?: boolean;
  /** By name; null removes. */
  attributes?: Readonly<Record<string, unknown>>;
  /** For the log; only the command line may leave it out. */
  reason?: string;
};

/**
 * Changes a user's name, username, attributes or address, or marks the address as verified: without a mail to it, on the word of the
 * administrator. As when users change it themselves, sessions stay, and links that were sent to the old address are invalidated; the old
 * address is notified. A new one is not verified unless the edit says so.
 * @returns the user as they are now. An edit that differs in nothing changes and records nothing.
 * @throws {RequestError} `not_found`; `invalid_request` with one entry per field; `access_denied` as {@link refuseTakeover}
 * says, and for the names as {@link refuseAgainstAdministrator} says; `invalid_state` if the new address or
 * username is taken, or the old address has changed meanwhile.
 */
export async function editUser(
  deps: MailDeps & PlacementDeps & Pick<AttributeDeps, 'attributes'>,
  caller: Caller,
  user_id: string,
  edit: UserEdit,
): Promise<Edited<User>> {
  const user = await requireUser(deps, user_id);
  const { reason, names, email, isVerified } = readEdit(deps, edit, user);
  const isOtherAddress = email !== user.email;
  const isNewlyVerified = !isOtherAddress && isVerified && user.email_verified_at === null;
  if (isOtherAddress || isNewlyVerified) await refuseTakeover(deps, caller, user_id);
  const attributes: ChangedValues | undefined =
    edit.attributes && changeValues(await deps.attributes.read(), user.attributes, edit.attributes, 'administrator');
  const fields = [...Object.keys(names), ...(attributes?.fields ?? [])];
  if (fields.length > 0) await refuseAgainstAdministrator(deps, caller, user_id);
  if (fields.length === 0 && !isOtherAddress && !isNewlyVerified) return { after: user, isChanged: false };

  const at = now(deps);
  const { preferred_username: handle } = names;
  const event = (action: AuditAction, states: object) =>
    auditEvent({ action, ...caller, target: user_id, reason, ...states }, at).statement;
  const { taken, released } = handleWrites(deps.db, user_id, handle, at);
  const handles = claimsOfHandles(deps.db, user_id, { from: user.preferred_username, to: handle }, at);
  const claims = allOfClaimed(handles, claimsOfChange(deps, user.email, email));
  const done = await deps.claims.holding(user_id, claims, (claim) =>
    deps.db.of(user_id).change({
      lock: lockUser(user_id),
      require: {
        address: hasEmail(user_id, user.email),
        role: caller.actor === 'cli' || (!isOtherAddress && !isNewlyVerified) ? undefined : hasRole(user_id, 'user'),
      },
      run: {
        claim,
        taken,
        names: Object.keys(names).length === 0 ? undefined : setProfile(user_id, names, at),
        attributes: attributesWrite(user_id, attributes, at),
        changed: fields.length === 0 ? undefined : event('user.changed', { after: { fields } }),
        email: isOtherAddress
          ? replaceEmail(user_id, { from: user.email, to: email, verifiedAt: isVerified ? at : null }, at)
          : undefined,
        links: isOtherAddress
          ? [
              deleteLinksOfUser(user_id, 'verify_email'),
              deleteLinksOfUser(user_id, 'change_email'),
              deleteResetLinksOfUser(user_id),
              ...resetPasswordLimits(email), // of guesses at this address before
              ...mailTo(deps, user, 'email_changed_admin', { new_email: email }),
              event('email.changed', { before: { email: user.email }, after: { email } }),
            ]
          : undefined,
        verified: isNewlyVerified
          ? [
              markEmailVerified(user_id, email, at),
              deleteLinksOfUser(user_id, 'verify_email'),
              event('email.verified', { after: { email } }),
            ]
          : undefined,
        released,
      },
    }),
  );
  if (done.ok) return { after: await requireUser(deps, user_id), isChanged: true };
  if (done.failed === 'taken' || isTakenClaim(done, handles)) throw takenHandle();
  if (done.failed === 'email' || isTakenClaim(done)) throw takenField('email', { key: 'problem.email.taken' });
  throw invalidState('changed');
}

/** What is left out stays as it is. @throws {RequestError} `invalid_request`. */
function readEdit(
  { config }: Pick<MailDeps, 'config'>,
  { name, preferred_username: username, email, email_verified, reason }: UserEdit,
  user: User,
) {
  const emailWrong = email === undefined ? undefined : emailProblem(email);
  const problems = [
    ...(name !== undefined && displayNameProblem(name) !== undefined
      ? [fieldProblem('name', { key: 'problem.name' })]
      : []),
    ...(emailWrong === undefined ? [] : [fieldProblem('email', { key: emailWrong })]),
  ];
  if (problems.length > 0) throw invalidFields(problems);
  const handle = username == null ? username : readHandle(config, username);
  const names: Partial<Pick<Profile, 'name' | 'preferred_username'>> = {
    ...(name !== undefined && normalizeName(name) !== user.name && { name: normalizeName(name) }),
    ...(handle !== undefined && handle !== user.preferred_username && { preferred_username: handle }),
  };
  const wanted = email === undefined ? user.email : readableEmail(email);
  const isSameMailbox = emailKey(wanted) === emailKey(user.email);
  return {
    reason: reason === undefined ? undefined : readReason(reason),
    names,
    email: wanted,
    isVerified: email_verified === true || (isSameMailbox && user.email_verified_at !== null),
  };
}
