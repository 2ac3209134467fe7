import { Secret, TOTP } from 'otpauth';
import type { Answer } from './browser.ts';
import type { Signet } from './signet.ts';
import type { TestUser } from './test-user.ts';

export type Authenticator = {
  /** Base32. */
  secret: string;
  backup_codes: string[];
  /** A code that has not been given out before; moves the clock on to the next step when it has to. */
  code(): string;
};

/** Sets TOTP up by its pages, for a user whose browser has signed in recently. */
export async function enableTotp(
  signet: Signet,
  { browser }: Pick<TestUser, 'browser'>,
  options: { end_other_sessions?: boolean } = {},
): Promise<Authenticator> {
  const secret = String(fieldsOf(await browser.postEmpty('/v1/me/2fa/totp/enroll')).secret_base32);
  const code = codesOf(signet, secret);
  const confirmed = fieldsOf(await browser.postJson('/v1/me/2fa/totp/confirm', { code: code(), ...options }));
  return { secret, backup_codes: confirmed.backup_codes as string[], code };
}

/** A POST without a body, as a script of our own pages sends it. */
export const post = ({ url }: Pick<Signet, 'url'>): RequestInit => ({ method: 'POST', headers: { origin: url } });

/** The code of a moment, as an authenticator app shows it. @param at Unix seconds. */
export const totpAt = (secret: string, at: number): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at * 1000 });

/** Gives out the code of each step once. */
export function codesOf({ clock }: Pick<Signet, 'clock'>, secret: string): () => string {
  const step = () => Math.floor(clock() / 30_000);
  let newest = 0;
  return () => {
    if (step() <= newest) clock.advance((newest + 1) * 30 - Math.floor(clock() / 1000));
    newest = step();
    return totpAt(secret, newest * 30);
  };
}

/** Six digits that are right neither now nor within two steps around. */
export function wrongCode({ clock }: Pick<Signet, 'clock'>, secret: string): string {
  const near = [-2, -1, 0, 1, 2].map((steps) => totpAt(secret, clock() / 1000 + steps * 30));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !near.includes(code))!;
}

function fieldsOf(answer: Answer): Record<string, unknown> {
  if (answer.status !== 200 || !answer.json) throw new Error(`expected 200: ${answer.status} ${answer.text}`);
  return answer.json;
}
