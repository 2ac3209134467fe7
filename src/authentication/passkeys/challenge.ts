import { randomBytes, timingSafeEqual } from 'node:crypto';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { digest } from '../../platform/ids.ts';

/** What a challenge is good for. One for one purpose is worth nothing for another. */
type ChallengePurpose = 'register' | 'sign_in' | 'second_factor' | 'confirm';

export type ChallengeUse = {
  purpose: ChallengePurpose;
  /** The secret that names this browser. */
  browser: string;
  /** Who or what it is about: a person, or a sign-in under way. Empty where nobody is known yet. */
  subject: string;
};

/** Time for a person to find the key and to touch it. Seconds. */
export const challengeSeconds = 300;

/** What to leave in `spent_tokens`, so that the challenge is good once. */
export type OpenChallenge = { token_hash: string; expires_at: number };

const randomLength = 32;
const timeLength = 6;
const macLength = 32;

/**
 * Random bytes, when it ends, and a MAC over both and over what it is for. So none has to be stored: the authenticator
 * signs over it, and we know our own again. Nobody can guess or make one (WebAuthn §13.4.3).
 * @returns base64url, as it goes to the browser.
 */
export function newChallenge(deps: Pick<Deps, 'vault' | 'clock'>, use: ChallengeUse): string {
  const end = Buffer.alloc(timeLength);
  end.writeUIntBE(now(deps) + challengeSeconds, 0, timeLength);
  const content = Buffer.concat([randomBytes(randomLength), end]);
  return Buffer.concat([content, macOf(deps, content, use)]).toString('base64url');
}

/** @returns undefined unless we made it for exactly this, and its time is not over. */
export function openChallenge(
  deps: Pick<Deps, 'vault' | 'clock'>,
  challenge: string,
  use: ChallengeUse,
): OpenChallenge | undefined {
  const bytes = Buffer.from(challenge, 'base64url');
  if (bytes.length !== randomLength + timeLength + macLength) return undefined;
  const content = bytes.subarray(0, -macLength);
  if (!timingSafeEqual(bytes.subarray(-macLength), macOf(deps, content, use))) return undefined;
  const expires_at = content.readUIntBE(randomLength, timeLength);
  if (expires_at <= now(deps)) return undefined;
  return { token_hash: digest(bytes.toString('base64url')), expires_at };
}

const macOf = ({ vault }: Pick<Deps, 'vault'>, content: Buffer, { purpose, browser, subject }: ChallengeUse): Buffer =>
  vault.mac(
    'passkey-challenge',
    Buffer.from(JSON.stringify([purpose, browser, subject, content.toString('base64url')])),
  );
