import type { User } from '../accounts/statements.ts';
import { perStandardClaim } from '../accounts/statements.ts';
import { findUsers } from '../accounts/users.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { findTotp, listIdentities, listPasskeys, passwordOf } from '../authentication/statements.ts';
import { totpPurpose } from '../authentication/two-factor/totp.ts';
import { groupsOfUser } from '../groups/statements.ts';
import { now } from '../platform/clock.ts';
import { inPages } from '../platform/db/slices.ts';
import type { ImportDeps } from './deps.ts';
import type { ImportedUser } from './format.ts';

/** Read at once, of the users of a page. */
const atOnce = 20;

/**
 * Every user in the format of an import, a line each, with password hashes and the secrets of authenticator apps: who reads it can sign in
 * as many of them. The caller encrypts it.
 * @param recipient to whom, for the audit log, which names it before anything is read.
 */
export async function exportAllUsers(
  deps: ImportDeps,
  caller: Caller,
  recipient: string,
): Promise<AsyncGenerator<string>> {
  const after = { filter: 'all', recipient };
  const event = auditEvent({ action: 'user.list_exported', ...caller, after }, now(deps));
  await deps.db.change({ run: { event: event.statement } });
  return linesOf(deps);
}

async function* linesOf(deps: ImportDeps): AsyncGenerator<string> {
  yield* inPages(async (after: string | undefined, limit) => {
    const { users, next } = await findUsers(deps, { after, limit });
    const lines: string[] = [];
    for (let first = 0; first < users.length; first += atOnce)
      lines.push(...(await Promise.all(users.slice(first, first + atOnce).map((user) => lineOf(deps, user)))));
    return { page: lines.join(''), next };
  });
}

const lineOf = async (deps: ImportDeps, user: User): Promise<string> =>
  `${JSON.stringify(withoutNulls(await exported(deps, user)))}\n`;

async function exported({ db, vault, config }: ImportDeps, user: User): Promise<ImportedUser> {
  const { user_id } = user;
  const [password, totp, identities, passkeys, groups] = await Promise.all([
    passwordOf(db, user_id),
    findTotp(db, user_id),
    listIdentities(db, user_id),
    listPasskeys(db, user_id),
    groupsOfUser(db, user_id),
  ]);
  const secret = totp?.confirmed_at == null ? undefined : totp.secret_sealed;
  return {
    external_id: user_id,
    sub: user_id,
    email: user.email,
    email_verified: user.email_verified_at !== null,
    name: user.name,
    ...perStandardClaim((claim) => user[claim]),
    picture: user.picture,
    locale: user.locale,
    disabled: user.disabled_at !== null,
    created_at: user.created_at,
    password_hash: password?.password_hash ?? null,
    password_changed_at: password?.changed_at ?? null,
    totp: secret ? { secret: vault.open(totpPurpose(user_id), secret) } : null,
    identities: identities.map(({ issuer, subject, email }) => ({ issuer, subject, email })),
    passkeys: passkeys.map((passkey) => ({
      rp_id: new URL(config.baseUrl).hostname,
      credential_id: passkey.credential_id,
      public_key: passkey.public_key,
      user_handle: passkey.user_handle,
      sign_count: passkey.sign_count,
      transports: passkey.transports,
      backed_up: passkey.backed_up_at !== null,
      name: passkey.name,
      created_at: passkey.created_at,
    })),
    groups: groups.map(({ name }) => name),
  };
}

/** What a user does not have is left out, lists included. */
const withoutNulls = (user: ImportedUser): object =>
  Object.fromEntries(
    Object.entries(user).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)),
  );
