import { randomInt } from 'node:crypto';
import { mayMailTo } from '../../accounts/mail-limits.ts';
import { findUserByEmail, partOfEmail } from '../../accounts/statements.ts';
import { unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import { inOrder } from '../../platform/db/db.ts';
import type { MailDeps, PlacementDeps } from '../../platform/deps.ts';
import { bucketOf, digest, newSecretIn, newUserId } from '../../platform/ids.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { type LinkRequest, limitMailRequests } from '../account-links/sign-up.ts';
import { deviceName } from '../sessions/browser.ts';
import { insertMailCode, mailCodeSeconds, maySignInByMail } from '../sessions/mail-codes.store.ts';
import { findKnownDevice } from '../sessions/store.ts';

const digits = 8;

/** What is stored of a code: without the secret of the cookie there is nothing to try guesses on. */
export const mailCodeHash = (token: string, code: string): string => digest(`${token}:${code}`);

const newCode = (): string => String(randomInt(10 ** digits)).padStart(digits, '0');

/** In two groups, as it is read and typed. */
const grouped = (code: string): string => `${code.slice(0, digits / 2)} ${code.slice(digits / 2)}`;

/**
 * Mails a code that signs in, to the address as the account spells it. It is good in the browser that has the returned secret, and
 * there alone. The mail says which that is: an attacker may ask for a code, and then its reader for the code. For an address without an
 * account, with one that has not proved it or is disabled, and beyond the mails that a mailbox may get, the same statements run, and no mail
 * is stored.
 * Browsers in which the user has signed in have mails of their own to ask for: others cannot use them up.
 * @returns the secret for the cookie.
 * @throws {RequestError} `invalid_request` for an invalid address; `rate_limited` per IP address.
 */
export async function requestMailCode(
  deps: MailDeps & PlacementDeps,
  request: LinkRequest & { deviceToken: string; userAgent: string | undefined },
): Promise<string> {
  const { email, locale, address, deviceToken, userAgent, request_id, next } = request;
  await limitMailRequests(deps, request);
  const user = await findUserByEmail(deps, email);
  const bucket = user ? bucketOf(user.user_id) : deps.placement.bucketOfEmail(email);
  const user_id = user?.user_id ?? newUserId(bucket);
  const part = user ? deps.db.of(user.user_id) : partOfEmail(deps, email);
  const known = await findKnownDevice(deps.db, user_id, deviceToken, 0);
  const kind = known === undefined ? 'sign-in-code' : 'sign-in-code-known';
  const sendsMail = await mayMailTo(deps, kind, email, part);
  const token = newSecretIn(bucket, 'mc_');
  const code = newCode();
  const to = { email: user?.email ?? email.trim(), name: user?.name ?? null, locale: user?.locale ?? locale };
  const at = now(deps);
  const device = deviceName(userAgent) ?? '?';
  const values = {
    code: grouped(code),
    minutes: mailCodeSeconds / 60,
    expires_at: at + mailCodeSeconds,
    device,
    address,
  };
  const stored = {
    token_hash: digest(token),
    user_id,
    email: email.trim(),
    code_hash: mailCodeHash(token, code),
    request_id: request_id ?? null,
    next: next ?? null,
  };
  await inOrder(
    {
      in: part,
      run: {
        code: insertMailCode(stored, at),
        mails: sendsMail ? mailTo(deps, to, 'sign_in_code', values, maySignInByMail(user_id, email)) : undefined,
      },
    },
    {
      in: deps.db.near(addressKey(address)),
      run: { event: unauthenticatedEvent(deps, { action: 'sign_in.code_asked', target: user?.user_id, address }) },
    },
  );
  return token;
}
