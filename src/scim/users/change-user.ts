import { refuseAgainstAdministrator } from '../../accounts/administrators.ts';
import {
  claimsOfChange,
  claimsOfUserNames,
  deleteLinksOfUser,
  deleteResetLinksOfUser,
  findScimUser,
  hasEmail,
  hasRole,
  insertProvisioned,
  lockUser,
  type Provisioned,
  replaceEmail,
  type ScimUser,
  setProfile,
  updateProvisioned,
} from '../../accounts/statements.ts';
import { disableUser, enableUser } from '../../admin/users/administer-user.ts';
import { deleteUserByAdministrator } from '../../admin/users/delete-user.ts';
import { refuseTakeover } from '../../admin/users/refuse-takeover.ts';
import type { AuditAction } from '../../audit/actions.ts';
import { auditEvent } from '../../audit/audit.ts';
import { resetPasswordLimits } from '../../authentication/passwords/password-limits.ts';
import type { Deps } from '../../oauth/deps.ts';
import { allOfClaimed, isTakenClaim } from '../../platform/claims.ts';
import { now } from '../../platform/clock.ts';
import { accessDenied, invalidState, notFound, RequestError } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import type { ScimCaller } from '../access.ts';
import { inactive, requireFreeName, takenAddress, takenName } from './create-user.ts';
import type { UserForm } from './form.ts';
import { readWanted, userNameKey, type WantedUser } from './wanted.ts';

/** @throws {RequestError} `not_found`. */
export async function requireScimUser({ db }: Pick<Deps, 'db'>, user_id: string): Promise<ScimUser> {
  const user = await findScimUser(db, user_id);
  if (!user) throw notFound();
  return user;
}

/**
 * Makes an account what a directory says. Of an account that a directory has not made, the address is its user's. What is wrong is
 * found before anything is changed; whether the user is active is a change of its own, after the others.
 * @throws {RequestError} `invalid_request` for what an attribute cannot be; 409 `uniqueness`; `access_denied` for an administrator, and
 * for the address of an account that was there before; `invalid_state` if it was changed at the same moment.
 */
export async function changeScimUser(deps: Deps, caller: ScimCaller, before: ScimUser, form: UserForm): Promise<void> {
  const wanted = readWanted({ config: deps.config, now: now(deps) }, form);
  const isOtherState = wanted.active !== null && wanted.active !== (before.disabled_at === null);
  const difference = differenceOf(before, wanted);
  if (!isOtherState && difference === undefined) return;
  await refuseAgainstAdministrator(deps, caller, before.user_id);
  if (difference !== undefined) await applyDifference(deps, caller, before, difference);
  if (!isOtherState) return;
  try {
    if (wanted.active) await enableUser(deps, caller, before.user_id);
    else await disableUser(deps, caller, before.user_id, inactive);
  } catch (error) {
    // Of two at the same moment, the second finds it done.
    if (!(error instanceof RequestError) || error.code !== 'invalid_state') throw error;
    const after = await requireScimUser(deps, before.user_id);
    if ((after.disabled_at === null) !== wanted.active) throw error;
  }
}

type Difference = {
  profile: Partial<WantedUser['profile']>;
  email: string | undefined;
  provisioned: Pick<Provisioned, 'user_name' | 'external_id' | 'email_primary'> | undefined;
};

function differenceOf(before: ScimUser, wanted: WantedUser): Difference | undefined {
  const { profile, email } = wanted;
  const changed = (Object.keys(profile) as (keyof typeof profile)[]).filter((one) => profile[one] !== before[one]);
  const provisioned = { user_name: wanted.userName, external_id: wanted.externalId, email_primary: wanted.isPrimary };
  const isSame =
    provisioned.user_name === (before.user_name ?? before.email) &&
    provisioned.external_id === before.external_id &&
    provisioned.email_primary === (before.email_primary ?? true);
  const isSameEmail = email === before.email;
  if (changed.length === 0 && isSame && isSameEmail) return undefined;
  return {
    profile: Object.fromEntries(changed.map((one) => [one, profile[one]])),
    email: isSameEmail ? undefined : email,
    provisioned: isSame ? undefined : provisioned,
  };
}

async function applyDifference(
  deps: Deps,
  caller: ScimCaller,
  before: ScimUser,
  { profile, email, provisioned }: Difference,
): Promise<void> {
  const { user_id } = before;
  if (email !== undefined) {
    if (before.created_by === null)
      throw accessDenied(
        'This account was not made by SCIM, so its address is changed by its user or an administrator.',
      );
    await refuseTakeover(deps, caller, user_id);
  }
  if (provisioned !== undefined) await requireFreeName(deps, provisioned.user_name, user_id);
  const at = now(deps);
  const event = (action: AuditAction, states: object) =>
    auditEvent({ action, ...caller, target: user_id, ...states }, at).statement;
  const fields = [...Object.keys(profile), ...(provisioned === undefined ? [] : ['scim_name'])];
  const row = provisioned && { ...provisioned, user_name_key: userNameKey(provisioned.user_name) };
  const names =
    row === undefined
      ? {}
      : claimsOfUserNames(
          deps.db,
          before.user_name === null ? undefined : userNameKey(before.user_name),
          row.user_name_key,
        );
  const claims = allOfClaimed(names, claimsOfChange(deps, before.email, email ?? before.email));
  const done = await deps.claims.holding(user_id, claims, (claim) =>
    deps.db.of(user_id).change({
      lock: lockUser(user_id),
      require: { address: hasEmail(user_id, before.email), role: hasRole(user_id, 'user') },
      run: {
        claim,
        provisioned:
          row === undefined
            ? undefined
            : before.user_name === null
              ? insertProvisioned({ user_id, ...row, created_by: null, created_at: at })
              : updateProvisioned(user_id, row),
        // Also where no column of the account is another one: its time of change is.
        profile:
          fields.length === 0
            ? undefined
            : [
                ...setProfile(user_id, { locale: before.locale, ...profile }, at),
                event('user.changed', { after: { fields } }),
              ],
        email:
          email === undefined
            ? undefined
            : replaceEmail(user_id, { from: before.email, to: email, verifiedAt: at }, at),
        links:
          email === undefined
            ? undefined
            : [
                deleteLinksOfUser(user_id, 'verify_email'),
                deleteLinksOfUser(user_id, 'change_email'),
                deleteResetLinksOfUser(user_id),
                ...resetPasswordLimits(email), // of guesses at this address before
                ...mailTo(deps, before, 'email_changed_admin', { new_email: email }),
                event('email.changed', { before: { email: before.email }, after: { email } }),
              ],
      },
    }),
  );
  if (done.ok) return;
  if (done.failed === 'provisioned' || isTakenClaim(done, names)) throw takenName();
  if (done.failed === 'email' || isTakenClaim(done)) throw takenAddress();
  await requireScimUser(deps, user_id);
  throw invalidState('changed');
}

/** With the effects of a deletion by an administrator. @throws {RequestError} `access_denied` for an account that no directory has made. */
export async function deleteScimUser(deps: Deps, caller: ScimCaller, user: ScimUser): Promise<void> {
  if (user.created_by === null)
    throw accessDenied('This account was not made by SCIM, so it is not deleted by it. Set active to false instead.');
  await deleteUserByAdministrator(deps, caller, user.user_id, { email: user.email, reason: 'SCIM: deleted.' });
}
