import {
  deleteLinks,
  findOpenLink,
  hasAdministrator,
  insertLink,
  noAdministrator,
  type OneTimeLink,
} from '../accounts/statements.ts';
import { type Actor, auditEvent } from '../audit/audit.ts';
import { createUser } from '../authentication/account-links/create-user.ts';
import type { Deps } from '../authentication/deps.ts';
import { now } from '../platform/clock.ts';
import type { LimitDeps, StoreDeps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import { digest, newSecret } from '../platform/ids.ts';

/** A day: long enough to find the terminal again, short enough to forget a printed link. */
const invitationSeconds = 86_400;

/**
 * @param purpose a link for the first administrator, which a start prints, is good only while there is none.
 * @returns a link that creates one administrator account, once.
 */
export async function inviteAdministrator(
  deps: LimitDeps,
  actor: Actor,
  purpose: 'administrator' | 'first_administrator' = 'administrator',
): Promise<{ url: string; expires_at: number }> {
  const token = newSecret('inv_');
  const at = now(deps);
  const expires_at = at + invitationSeconds;
  const { statement } = auditEvent({ action: 'administrator.invited', actor, after: { expires_at } }, at);
  const link = insertLink({ token_hash: digest(token), purpose, expires_at }, at);
  await deps.db.of(token).change({ run: { link, event: statement } });
  return { url: `${deps.config.baseUrl}/invite/${token}`, expires_at };
}

export async function findInvitation(deps: StoreDeps, token: string): Promise<OneTimeLink | undefined> {
  const link = await findOpenLink(
    deps.db.of(token),
    digest(token),
    ['administrator', 'first_administrator'],
    now(deps),
  );
  if (link?.purpose === 'first_administrator' && (await hasAdministrator(deps.db))) return undefined;
  return link;
}

/** `address` is where the request came from. */
type Acceptance = { email: string; name: string; password: string; address: string };

/**
 * Uses an invitation up and makes its account, both or neither.
 * @throws {RequestError} `invalid_request`, with `fields` when the link is still good and something else is not;
 * `invalid_state` if the address has an account.
 */
export async function acceptInvitation(
  deps: Pick<Deps, 'db' | 'clock' | 'passwords' | 'placement' | 'claims' | 'attributes'>,
  token: string,
  { address, ...acceptance }: Acceptance,
): Promise<string> {
  const link = await findInvitation(deps, token);
  if (!link) throw spentInvitation();
  const account = { ...acceptance, role: 'admin', emailVerified: false } as const;
  return createUser(
    deps,
    account,
    { address },
    {
      in: deps.db.of(token),
      link,
      lock: deleteLinks('first_administrator'), // so that on PostgreSQL the uses of several wait for each other
      // Each start prints a link for the first administrator. Of several that are used at once one makes an account.
      require: link.purpose === 'first_administrator' ? { first: noAdministrator } : {},
      refusal: spentInvitation,
    },
  );
}

export const spentInvitation = () =>
  refusal(
    'invalid_request',
    { key: 'invitation.spent' },
    { title: { key: 'error.link_spent' }, exit: { path: '/signin', label: 'signin.submit' } },
  );
