import {
  type AddressDeps,
  claimOfEmail,
  claimOfUserName,
  findUserByEmail,
  insertProvisioned,
  insertUser,
  partOfEmail,
  setDisabled,
  setProfile,
} from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { LimitDeps, PlacementDeps } from '../../platform/deps.ts';
import { tookTooLong } from '../../platform/errors.ts';
import { newUserId, type UserId } from '../../platform/ids.ts';
import type { ScimCaller } from '../access.ts';
import { scimError } from '../errors.ts';
import type { UserForm } from './form.ts';
import { readWanted, userNameKey } from './wanted.ts';

/**
 * Makes an account without a password: its user signs in by a provider, or sets a password by the link of a reset. The address counts
 * as verified, on the word of the directory. An account that is there already is never taken over.
 * @throws {RequestError} `invalid_request` for what an attribute cannot be; 409 `uniqueness` if the name or the address is taken;
 * `temporarily_unavailable` if it took too long.
 */
export async function createScimUser(
  deps: LimitDeps & PlacementDeps,
  caller: ScimCaller,
  sent: UserForm,
): Promise<UserId> {
  const at = now(deps);
  const displayName = sent.displayName ?? sent.formatted ?? wholeName(sent);
  const { userName, externalId, email, isPrimary, profile, active } = readWanted(
    { config: deps.config, now: at },
    { ...sent, displayName },
  );
  await requireFreeName(deps, userName);
  const user_id = newUserId(deps.placement.bucketOfEmail(email));
  const { name, locale } = profile;
  const role = 'user';
  const event = auditEvent({ action: 'user.created', ...caller, target: user_id, after: { role } }, at);
  const unclaimed = await deps.claims.unclaimed(claimOfEmail(deps, email));
  const user_name_key = userNameKey(userName);
  const claim = claimOfUserName(deps.db, user_name_key);
  const done = await deps.claims.holding(user_id, { taken: [claim] }, (ticket) =>
    partOfEmail(deps, email).change({
      run: {
        ticket,
        user: [...insertUser({ user_id, email, email_verified_at: at, name, locale, role }, at), ...unclaimed],
        profile: setProfile(user_id, profile, at),
        provisioned: insertProvisioned({
          user_id,
          user_name: userName,
          user_name_key,
          external_id: externalId,
          email_primary: isPrimary,
          created_by: caller.actor.slice('service:'.length),
          created_at: at,
        }),
        event: event.statement,
        disabled:
          active === false
            ? [
                setDisabled(user_id, true, at),
                auditEvent({ action: 'user.disabled', ...caller, target: user_id, reason: inactive }, at).statement,
              ]
            : undefined,
      },
    }),
  );
  if (done.ok) return user_id;
  if (done.failed === 'ticket' && (await deps.claims.holderOf(claim)) === undefined) throw tookTooLong();
  throw done.failed === 'user' ? takenAddress() : takenName();
}

/** The reason in the log. */
export const inactive = 'SCIM: active is false.';

const wholeName = ({ givenName, familyName }: UserForm): string | null =>
  [givenName, familyName].filter(Boolean).join(' ') || null;

/** A name that is the address of another account would lead to that one. @throws {RequestError} 409 `uniqueness`. */
export async function requireFreeName(deps: AddressDeps, userName: string, user_id?: UserId): Promise<void> {
  if (!userName.includes('@')) return;
  const other = await findUserByEmail(deps, userName);
  if (other !== undefined && other.user_id !== user_id) throw takenName();
}

export const takenName = () => scimError(409, 'uniqueness', 'Another user has this userName already.');
export const takenAddress = () =>
  scimError(409, 'uniqueness', 'Another account has this email address already. An account is never taken over.');
