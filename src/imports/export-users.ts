import type { User } from '../accounts/statements.ts';
import { perStandardClaim } from '../accounts/statements.ts';
import { findUsers } from '../accounts/users.ts';
import type { Value } from '../attributes/attribute.ts';
import type { AttributeRegister } from '../attributes/register.ts';
import { valuesByName } from '../attributes/values.ts';
import { findTotp, listIdentities, listPasskeys, passwordOf } from '../authentication/statements.ts';
import { totpPurpose } from '../authentication/two-factor/totp.ts';
import { groupsOfUser } from '../groups/statements.ts';
import { pictureOf } from '../platform/pages/initials.ts';
import type { ImportDeps } from './deps.ts';
import type { ImportedUser } from './format.ts';

/** Read at once, of the users of a page. */
const atOnce = 20;

/**
 * Users in the format of an import, with password hashes and the secrets of authenticator apps: who reads them can sign in as
 * any of them. The caller encrypts them.
 * @param after `next` of the page before.
 */
export async function exportUsers(
  deps: ImportDeps,
  after: string | undefined,
  limit: number,
): Promise<{ users: ImportedUser[]; next: string | undefined }> {
  const { users, next } = await findUsers(deps, { after, limit });
  const exported: ImportedUser[] = [];
  for (let first = 0; first < users.length; first += atOnce)
    exported.push(...(await Promise.all(users.slice(first, first + atOnce).map((user) => exportUser(deps, user)))));
  return { users: exported, next };
}

async function exportUser({ db, vault, config, attributes }: ImportDeps, user: User): Promise<ImportedUser> {
  const { user_id } = user;
  const [password, totp, identities, passkeys, groups, register] = await Promise.all([
    passwordOf(db, user_id),
    findTotp(db, user_id),
    listIdentities(db, user_id),
    listPasskeys(db, user_id),
    groupsOfUser(db, user_id),
    attributes.read(),
  ]);
  const secret = totp?.confirmed_at == null ? null : totp.secret_sealed;
  return withoutNulls({
    external_id: user_id,
    sub: user_id,
    email: user.email,
    email_verified: user.email_verified_at !== null,
    email_verified_at: user.email_verified_at,
    name: user.name,
    ...perStandardClaim((claim) => user[claim]),
    // One that was uploaded here is nowhere else.
    picture: pictureOf(config.baseUrl, user) === undefined ? user.picture : null,
    locale: user.locale,
    disabled: user.disabled_at !== null,
    disabled_at: user.disabled_at,
    created_at: user.created_at,
    updated_at: user.updated_at,
    last_sign_in_at: user.last_sign_in_at,
    password_hash: password?.password_hash ?? null,
    password_changed_at: password?.changed_at ?? null,
    password_min_characters: password?.min_characters ?? null,
    totp:
      secret === null
        ? null
        : withoutNulls({
            secret: vault.open(totpPurpose(user_id), secret),
            confirmed_at: totp?.confirmed_at ?? null,
            last_used_at: totp?.last_used_at ?? null,
          }),
    identities: identities.map(({ provider, issuer, subject, email, linked_at, last_used_at }) =>
      withoutNulls({ provider, issuer, subject, email, linked_at, last_used_at }),
    ),
    passkeys: passkeys.map((passkey) =>
      withoutNulls({
        rp_id: new URL(config.baseUrl).hostname,
        credential_id: passkey.credential_id,
        public_key: passkey.public_key,
        user_handle: passkey.user_handle,
        sign_count: passkey.sign_count,
        transports: passkey.transports,
        backed_up: passkey.backed_up_at !== null,
        backed_up_at: passkey.backed_up_at,
        name: passkey.name,
        created_at: passkey.created_at,
        last_used_at: passkey.last_used_at,
      }),
    ),
    attributes: exportedAttributes(register, user),
    groups: groups.map(({ name }) => name),
  });
}

function exportedAttributes(register: AttributeRegister, { attributes }: User): Record<string, Value> | null {
  const values = valuesByName(register, attributes);
  return Object.keys(values).length === 0 ? null : values;
}

/** What a user does not have is left out, lists included. */
const withoutNulls = <Value extends object>(value: Value): Value =>
  Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== null && !(Array.isArray(member) && member.length === 0)),
  ) as Value;
