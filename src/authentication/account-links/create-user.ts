import { takenHandle } from '../../accounts/handles.ts';
import type { Role } from '../../accounts/roles.ts';
import {
  claimOfEmail,
  claimsOfHandles,
  handleWrites,
  insertUser,
  type OneTimeLink,
  setRole,
} from '../../accounts/statements.ts';
import { valuesOfSignUp } from '../../attributes/values.ts';
import { type Actor, auditEvent, type Caller } from '../../audit/audit.ts';
import { wasOvertaken } from '../../platform/claims.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict, mustChange, type Requirements } from '../../platform/db/change.ts';
import { inOrder, type Part } from '../../platform/db/db.ts';
import type { Sql } from '../../platform/db/sql.ts';
import { useOnce } from '../../platform/db/used-once.ts';
import { emailProblem } from '../../platform/email-address.ts';
import { fieldProblem, invalidFields, RequestError, takenField, tookTooLong } from '../../platform/errors.ts';
import { newUserId, type UserId } from '../../platform/ids.ts';
import type { Agreement } from '../../platform/pages/brand.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';
import { unidentified } from '../credentials/hash-queue.ts';
import { minCharacters, newPasswordProblems } from '../credentials/password-policy.ts';
import { setPassword } from '../credentials/passwords.store.ts';
import type { Deps } from '../deps.ts';

type NewAccount = {
  email: string;
  name: string;
  password: string;
  role: Role;
  emailVerified: boolean;
  /** The user's own language; left out if another user or the command line creates the account. */
  locale?: string;
  /** As `readHandle` has returned it. */
  preferredUsername?: string;
  /** What its person has said of the operator's own attributes, by name; left out if another user or the command line creates the account. */
  ownAttributes?: Readonly<Record<string, unknown>>;
  /** What the form said that its person agrees to; left out if another user or the command line creates the account. */
  agreedTo?: Agreement | undefined;
  /** Who has given the role; left out for the role of a link that an operator has made. */
  roleGrantedBy?: Actor;
};

export type Permission = {
  /** Where the link is. */
  in: Part;
  link: OneTimeLink;
  /** What is required of the user who has given the link. */
  giver?: { in: Part; lock: Sql; require: Requirements } | undefined;
  lock?: Sql;
  require?: Requirements;
  /** Deletes links that end with this one; it was used if there is none of them any more. */
  ends?: Sql;
  /** What else changes with the account. */
  also?: readonly Sql[];
  /** Of the username, for the person to whom the link was sent: they end. */
  reservations?: Sql;
  /** Why the link makes no account: it was used, or a requirement is not met, which `failed` names. */
  refusal: (failed: string) => RequestError;
};

/**
 * Creates an account with a password, all or nothing.
 * @param by the actor who creates it, or the IP address of the user who creates their own account by a link.
 * @param permission the one-time link that allows it, which is consumed.
 * @throws {RequestError} `invalid_request` with one entry per field; `invalid_state` if the address or
 * the username is taken; `temporarily_unavailable` if it took too long.
 */
export async function createUser(
  deps: Pick<Deps, 'db' | 'clock' | 'passwords' | 'placement' | 'claims' | 'attributes'>,
  account: NewAccount,
  by: Actor | { address: string },
  permission?: Permission,
): Promise<UserId> {
  const signedUp = account.ownAttributes && (await signUpAttributes(deps, account.ownAttributes));
  const problem = emailProblem(account.email);
  const problems = [
    ...(problem ? [fieldProblem('email', { key: problem })] : []),
    ...(displayNameProblem(account.name) ? [fieldProblem('name', { key: 'problem.name' })] : []),
    ...newPasswordProblems(account.password, account),
    ...(signedUp?.problems ?? []),
  ];
  if (problems.length > 0) throw invalidFields(problems);

  const at = now(deps);
  const user_id = newUserId(deps.placement.bucketOfEmail(account.email));
  const caller: Caller = typeof by === 'string' ? { actor: by } : { actor: `user:${user_id}`, ...by };
  const asker = { ...unidentified(account.email, caller.address), isIdentified: permission !== undefined };
  const password_hash = await deps.passwords.hash(account.password, asker);
  const { role, preferredUsername: handle, roleGrantedBy } = account;
  const fields = [...(handle === undefined ? [] : ['preferred_username']), ...(signedUp?.changed?.fields ?? [])];
  const { agreedTo: agreed_to } = account;
  const after = { role, ...(fields.length > 0 && { fields }), ...(agreed_to && { agreed_to }) };
  const event = { action: 'user.created', ...caller, target: user_id, after } as const;
  const user = {
    ...account,
    user_id,
    name: normalizeName(account.name),
    preferred_username: handle ?? null,
    attributes: signedUp?.changed?.to ?? null,
    email_verified_at: account.emailVerified ? at : null,
  };
  const part = deps.db.of(user_id);
  const unclaimed = await deps.claims.unclaimed(claimOfEmail(deps, account.email));
  const { taken } = handleWrites(deps.db, user_id, handle, at);
  const claims = claimsOfHandles(
    deps.db,
    user_id,
    { from: null, to: handle, invited: permission?.reservations && account.email },
    at,
  );
  const done = await deps.claims.holding(user_id, claims, (claim) =>
    inOrder(
      { in: part, run: {}, ...permission?.giver },
      {
        in: permission?.in ?? part,
        lock: permission?.lock,
        require: permission?.require,
        run: {
          reservations: permission?.reservations,
          handle: taken,
          link: permission && mayConflict(useOnce(permission.link)),
          ends: permission?.ends && mustChange(permission.ends),
        },
      },
      {
        in: part,
        run: {
          claim,
          also: permission?.also,
          user: [...insertUser(user, at), ...unclaimed],
          role: roleGrantedBy === undefined ? undefined : setRole(user_id, role, roleGrantedBy, at),
          password: setPassword(user_id, { password_hash, min_characters: minCharacters() }, at),
          event: auditEvent(event, at).statement,
          roleEvent: roleGrantedBy === undefined ? undefined : roleGranted(user_id, role, roleGrantedBy, at),
        },
      },
    ),
  );
  if (done.ok) return user_id;
  if (wasOvertaken(done)) throw tookTooLong();
  if (done.failed === 'handle' || done.failed === 'claim') throw takenHandle();
  if (permission && done.failed !== 'user') throw permission.refusal(done.failed);
  throw takenField('email', { key: 'problem.email.taken' });
}

/** With the problems of the other fields, so that all of them are mended at once. */
async function signUpAttributes({ attributes }: Pick<Deps, 'attributes'>, wanted: Readonly<Record<string, unknown>>) {
  try {
    return { changed: valuesOfSignUp(await attributes.read(), wanted), problems: [] };
  } catch (error) {
    if (error instanceof RequestError && error.problems.length > 0) return { problems: error.problems };
    throw error;
  }
}

/** The event that names who has invited, as if the role had been given to the account. */
const roleGranted = (target: UserId, role: Role, actor: Actor, at: number): Sql =>
  auditEvent({ action: 'user.role_changed', actor, target, before: { role: 'user' }, after: { role } }, at).statement;
