import { randomBytes } from 'node:crypto';
import { now } from '../../platform/clock.ts';
import type { SingleUse } from '../../platform/db/used-once.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { digest } from '../../platform/ids.ts';
import { addressLimit } from '../../platform/limits/failure-limits.ts';

/** A challenge for one use is refused for another. */
export type ChallengeUse = {
  purpose: 'register' | 'sign_in' | 'second_factor' | 'confirm';
  /** The secret that names this browser. */
  browser: string;
  /** The user, or the pending sign-in, that it is for. Empty while the user is unknown. */
  subject: string;
};

/** Time to find the key and to touch it. */
export const challengeSeconds = 300;

const randomLength = 32;
const timeLength = 6;
const macLength = 32;

/**
 * Random bytes, the end of its validity, and a MAC over both and its use. So it need not be stored, and can be neither
 * guessed nor forged (WebAuthn §13.4.3).
 * @returns base64url, as it goes to the browser.
 */
export function newChallenge(deps: Pick<Deps, 'vault' | 'clock'>, use: ChallengeUse): string {
  const end = Buffer.alloc(timeLength);
  end.writeUIntBE(now(deps) + challengeSeconds, 0, timeLength);
  const content = Buffer.concat([randomBytes(randomLength), end]);
  return Buffer.concat([content, deps.vault.mac('passkey-challenge', macContent(content, use))]).toString('base64url');
}

/** @returns undefined unless it was made for exactly this use, and is not over. */
export function openChallenge(
  deps: Pick<Deps, 'vault' | 'clock'>,
  challenge: string,
  use: ChallengeUse,
): SingleUse | undefined {
  const bytes = Buffer.from(challenge, 'base64url');
  if (bytes.length !== randomLength + timeLength + macLength) return undefined;
  const content = bytes.subarray(0, -macLength);
  if (!deps.vault.isMac('passkey-challenge', macContent(content, use), bytes.subarray(-macLength))) return undefined;
  const expires_at = content.readUIntBE(randomLength, timeLength);
  if (expires_at <= now(deps)) return undefined;
  return { token_hash: digest(bytes.toString('base64url')), expires_at };
}

const macContent = (content: Buffer, { purpose, browser, subject }: ChallengeUse): Buffer =>
  Buffer.from(JSON.stringify([purpose, browser, subject, content.toString('base64url')]));

/**
 * Challenges cost next to nothing, and many users may share an address: the limit only stops a loop.
 * @throws {RequestError} `rate_limited`
 */
export function limitChallenges(deps: LimitDeps, address: string): Promise<void> {
  const limit = deps.config.limits.passkeyChallenges;
  return addressLimit(deps, { name: 'passkey-options', limit, windowSeconds: 600 }).take(address);
}
