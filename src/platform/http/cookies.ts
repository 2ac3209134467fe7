import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';

/** The name of the session cookie is part of the API (spec §5). */
export const cookieNames = (config: Pick<Config, 'cookiePrefix'>) => ({
  session: `${config.cookiePrefix}_identity_session`,
  /** Binds what is pending to a browser. */
  browser: `${config.cookiePrefix}_browser`,
  /** A sign-in between its first factor and its second. */
  attempt: `${config.cookiePrefix}_attempt`,
  /** Identifies a browser that has signed in before. Grants no access. */
  device: `${config.cookiePrefix}_device`,
  /** Of users who are not asked for their second factor in this browser. */
  trusted: `${config.cookiePrefix}_trusted`,
  /** A sign-in that waits for the code of a mail. */
  mailCode: `${config.cookiePrefix}_mail_code`,
  /** The state of an upstream authorization. */
  federation: `${config.cookiePrefix}_federation`,
  /** The test of a client that its owner has started. */
  clientTest: `${config.cookiePrefix}_client_test`,
  /** The user who does not want a passkey on this device for now. */
  passkeyOffer: `${config.cookiePrefix}_passkey_offer`,
  /** This device can have a passkey, as the script of a sign-in page has found. */
  ableDevice: `${config.cookiePrefix}_able_device`,
  /** How the last sign-in here began; not whose it was. */
  lastWay: `${config.cookiePrefix}_last_way`,
  /** The language that was chosen at the foot of a page. */
  language: `${config.cookiePrefix}_language`,
  /** Says nothing but that the browser keeps cookies. */
  probe: `${config.cookiePrefix}_probe`,
});

/**
 * HttpOnly, Lax, host-only; `Secure` on https, as the `__Host-` prefix demands.
 * @param maxAge seconds; undefined: until the browser is closed.
 */
export function setCookie(
  reply: FastifyReply,
  config: Config,
  name: string,
  value: string,
  maxAge: number | undefined,
): void {
  reply.setCookie(name, value, { path: '/', httpOnly: true, sameSite: 'lax', secure: config.secure, maxAge });
}

export function clearCookie(reply: FastifyReply, config: Config, name: string): void {
  setCookie(reply, config, name, '', 0);
}

/** The browser keeps cookies: it has sent one of ours. */
export const hasOwnCookie = (
  { cookiePrefix }: Pick<Config, 'cookiePrefix'>,
  { headers: { cookie = '' } }: FastifyRequest,
): boolean => cookie.split(';').some((one) => one.trimStart().startsWith(`${cookiePrefix}_`));

/** They are parsed when the first is read: most requests of programs have none, and no use for any. */
export function cookie(request: FastifyRequest, name: string): string | undefined {
  const parsed = request.cookies as FastifyRequest['cookies'] | null; // the type promises them from the start
  request.cookies = parsed ?? request.server.parseCookie(request.headers.cookie ?? '');
  return request.cookies[name] || undefined;
}
