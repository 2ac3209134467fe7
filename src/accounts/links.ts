import { now } from '../platform/clock.ts';
import type { Deps, StoreDeps } from '../platform/deps.ts';
import { readableEmail } from '../platform/email-address.ts';
import { type ExitLink, refusal } from '../platform/errors.ts';
import { type Bucket, digest, newSecretIn } from '../platform/ids.ts';
import { findOpenLink, type MailedLink, type OneTimeLink } from './links.store.ts';

// The statements by which other rooms issue, use and withdraw links.

const invitationSeconds = 7 * 86_400;

/** Decisions §3, in seconds; an invitation may find its reader on holiday. */
export const linkSeconds = {
  sign_up: 86_400,
  verify_email: 86_400,
  change_email: 86_400,
  password_reset: 1800,
  admin_password_reset: 1800,
  invitation: invitationSeconds,
  mailed_invitation: invitationSeconds,
};
type LinkPurpose = keyof typeof linkSeconds;

/** Where each kind of link leads. */
const paths: Readonly<Record<LinkPurpose, string>> = {
  sign_up: '/signup/',
  verify_email: '/verify-email/',
  change_email: '/verify-email/',
  password_reset: '/reset/',
  admin_password_reset: '/reset/',
  invitation: '/join/',
  mailed_invitation: '/join/',
};

type LinkRequest = {
  purpose: LinkPurpose;
  /** The address that the link is for. */
  email: string;
  request_id?: string;
  next?: string;
  preferred_username?: string;
  name?: string;
  role?: 'admin';
  /** Who makes an administrator of the user, or has made the link to a reset. */
  givenBy?: string;
};

/**
 * The row to store, which grants nothing, and the URL, which is for the mail, or for the page that shows it once.
 * @param bucket of the account; or where one of that address would be.
 */
export function newLink(
  deps: Pick<Deps, 'config' | 'clock'>,
  bucket: Bucket,
  request: LinkRequest,
): { link: MailedLink; url: string } {
  const token = newSecretIn(bucket, 'ln_');
  return {
    link: {
      token_hash: digest(token),
      purpose: request.purpose,
      expires_at: now(deps) + linkSeconds[request.purpose],
      email: readableEmail(request.email),
      request_id: request.request_id ?? null,
      next: request.next ?? null,
      preferred_username: request.preferred_username ?? null,
      name: request.name ?? null,
      role: request.role ?? null,
      invited_by: request.givenBy ?? null,
    },
    url: `${deps.config.baseUrl}${paths[request.purpose]}${token}`,
  };
}

/**
 * Reads the link without using it: mail scanners and previews open links before the user does.
 * @throws {RequestError} `invalid_request` for a link that is unknown, expired, used, replaced or for another purpose.
 */
export async function requireLink(
  deps: StoreDeps,
  token: string,
  purposes: readonly [ExplainedPurpose, ...LinkPurpose[]],
): Promise<OneTimeLink & { email: string }> {
  const link = await findOpenLink(deps.db.of(token), digest(token), purposes, now(deps));
  if (!link || link.email === null) throw spentLink(purposes[0]);
  return { ...link, email: link.email };
}

/** Why a change failed: false if the link was used meanwhile. */
export const isOpenLink = async (deps: StoreDeps, token: string, purposes: readonly LinkPurpose[]): Promise<boolean> =>
  (await findOpenLink(deps.db.of(token), digest(token), purposes, now(deps))) !== undefined;

/** Others share the text of one of these. */
type ExplainedPurpose = 'sign_up' | 'verify_email' | 'password_reset' | 'invitation';

/** Where another one is to be had. */
const exits: Readonly<Record<ExplainedPurpose, ExitLink>> = {
  sign_up: { path: '/signup', label: 'error.new_link' },
  verify_email: { path: '/account/email', label: 'error.to_email' },
  password_reset: { path: '/reset', label: 'error.new_link' },
  invitation: { path: '/signin', label: 'signin.submit' },
};

export const spentLink = (purpose: ExplainedPurpose) =>
  refusal(
    'invalid_request',
    { key: `link.spent.${purpose}` },
    { title: { key: 'error.link_spent' }, exit: exits[purpose] },
  );
