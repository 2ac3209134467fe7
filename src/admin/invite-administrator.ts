import {
  deleteLinks,
  failUnless,
  findOpenLink,
  insertLink,
  type OneTimeLink,
  spendLink,
} from '../accounts/one-time-links/store.ts';
import { hasAdministrator, noAdministrator } from '../accounts/store.ts';
import { type Actor, auditEvent } from '../audit/audit.ts';
import { createUser } from '../authentication/account-links/create-user.ts';
import type { Deps } from '../authentication/deps.ts';
import { now } from '../platform/clock.ts';
import type { LimitDeps, StoreDeps } from '../platform/deps.ts';
import { RequestError, refusal } from '../platform/errors.ts';
import { digest, newSecret } from '../platform/ids.ts';

/** A day: long enough to find the terminal again, short enough to forget a printed link. */
const invitationSeconds = 86_400;

/**
 * @param purpose a link for the first administrator, which a start prints, is good only while there is none.
 * @returns a link with which one person, once, makes an administrator's account.
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
  await deps.db.batch([insertLink({ token_hash: digest(token), purpose, expires_at }, at), statement]);
  return { url: `${deps.config.baseUrl}/invite/${token}`, expires_at };
}

export async function findInvitation(deps: StoreDeps, token: string): Promise<OneTimeLink | undefined> {
  const link = await findOpenLink(deps.db, digest(token), ['administrator', 'first_administrator'], now(deps));
  if (link?.purpose === 'first_administrator' && (await hasAdministrator(deps.db))) return undefined;
  return link;
}

/** `address` is where the request came from. */
type Acceptance = { email: string; name: string; password: string; address: string };

/**
 * Uses an invitation up and makes its account, both or neither.
 * @throws {RequestError} `invalid_request`, with `fields` when the link is still good and something else is not.
 */
export async function acceptInvitation(
  deps: Pick<Deps, 'db' | 'clock' | 'passwords'>,
  token: string,
  { address, ...acceptance }: Acceptance,
): Promise<string> {
  const link = await findInvitation(deps, token);
  if (!link) throw spentInvitation();
  const account = { ...acceptance, role: 'admin', emailVerified: false } as const;
  try {
    return await createUser(deps, account, { address }, [
      deleteLinks('first_administrator'), // first, so that on PostgreSQL the uses of several wait for each other
      ...(link.purpose === 'first_administrator' ? [beingFirst(link, now(deps))] : []),
      spendLink(link),
    ]);
  } catch (error) {
    // The e-mail address is taken, or somebody used this link or another first one this moment: the link tells which.
    if (error instanceof RequestError && !(await findInvitation(deps, token))) throw spentInvitation();
    throw error;
  }
}

/** Each start prints a link. Of several that are used at once, one makes an administrator. */
const beingFirst = ({ token_hash }: OneTimeLink, at: number) => failUnless(noAdministrator, `${token_hash}:first`, at);

export const spentInvitation = () => refusal('invalid_request', { key: 'invitation.spent' }, { back: '/signin' });
