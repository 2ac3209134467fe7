import { newLink, requireLink, spentLink } from '../../accounts/links.ts';
import { limitRequestsFrom, mayMailTo } from '../../accounts/mail-limits.ts';
import { findUserByEmail, ifFree, insertSignUpLink, partOfEmail } from '../../accounts/statements.ts';
import { unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import { inOrder } from '../../platform/db/db.ts';
import type { LimitDeps, MailDeps, PlacementDeps } from '../../platform/deps.ts';
import { emailProblem } from '../../platform/email-address.ts';
import { fieldProblem, invalidFields } from '../../platform/errors.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import type { Agreement } from '../../platform/pages/brand.ts';
import type { Deps } from '../deps.ts';
import { resetPasswordLimits } from '../passwords/password-limits.ts';
import { createUser } from './create-user.ts';

export type LinkRequest = {
  email: string;
  /** The language of the page with the form. */
  locale: Locale;
  /** IP address of the requester. */
  address: string;
  /** What the sign-in that follows is for. */
  request_id?: string;
  next?: string;
};

/**
 * Sends a link that creates an account, or to an address that has an account, a mail that says so. The requester sees no
 * difference: both run the same statements, whose conditions decide which mail is stored.
 * @throws {RequestError} `invalid_request` for an invalid address; `rate_limited` per IP address.
 */
export async function requestSignUp(deps: MailDeps & PlacementDeps, request: LinkRequest): Promise<void> {
  const { email, locale } = request;
  await limitMailRequests(deps, request);
  if (!(await mayMailTo(deps, 'sign-up', email))) return;
  const owner = await findUserByEmail(deps, email);
  const { link, url } = newLink(deps, deps.placement.bucketOfEmail(email), { purpose: 'sign_up', ...request });
  const { free, taken } = ifFree(deps, email, owner);
  const signin_url = `${deps.config.baseUrl}/signin`;
  const recipient = { email: owner?.email ?? link.email, name: owner?.name ?? null, locale: owner?.locale ?? locale };
  const values = { url, expires_at: link.expires_at };
  await inOrder(
    {
      in: partOfEmail(deps, email),
      run: {
        link: insertSignUpLink(link, now(deps)),
        mail: mailTo(deps, { email: link.email, locale }, 'sign_up', values, free),
        mailToOwner: mailTo(deps, recipient, 'sign_up_taken', { signin_url }, taken),
      },
    },
    {
      in: deps.db.near(addressKey(request.address)),
      run: { event: unauthenticatedEvent(deps, { action: 'sign_up.asked', address: request.address }) },
    },
  );
}

/** For a mail that a visitor requests without a session. */
export async function limitMailRequests(
  deps: LimitDeps,
  { email, address }: Pick<LinkRequest, 'email' | 'address'>,
): Promise<void> {
  const problem = emailProblem(email);
  if (problem) throw invalidFields([fieldProblem('email', { key: problem })]);
  await limitRequestsFrom(deps, address);
}

type Accepted = {
  name: string;
  password: string;
  locale: Locale;
  /** By name. */
  ownAttributes: Readonly<Record<string, unknown>>;
  agreedTo: Agreement | undefined;
  address: string;
};

/**
 * Consumes the link and creates the account, both or neither. The link has proved the address.
 * @param acceptance with the IP address of the requester.
 * @returns the id of the user.
 * @throws {RequestError} `invalid_request`, with `fields` if the link is valid and the input is not; `invalid_state` if the
 * address has an account by now.
 */
export async function acceptSignUp(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'passwords' | 'attributes' | 'placement' | 'claims'>,
  token: string,
  { address, ...acceptance }: Accepted,
): Promise<string> {
  const link = await requireLink(deps, token, ['sign_up']);
  const account = { ...acceptance, email: link.email, role: 'user', emailVerified: true } as const;
  const also = resetPasswordLimits(link.email); // of guesses at this address before it had an account
  const permission = { in: deps.db.of(token), link, also, refusal: () => spentLink('sign_up') };
  return createUser(deps, account, { address }, permission);
}
