import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';

/** The session cookie's name is part of the API (spec §5); the other ties a sign-in under way to its browser. */
export const cookieNames = (config: Pick<Config, 'cookiePrefix'>) => ({
  session: `${config.cookiePrefix}_identity_session`,
  browser: `${config.cookiePrefix}_browser`,
});

/** HttpOnly, Lax, host-only; `Secure` on https, as the `__Host-` prefix demands. */
export function setCookie(reply: FastifyReply, config: Config, name: string, value: string, maxAge: number): void {
  reply.setCookie(name, value, { path: '/', httpOnly: true, sameSite: 'lax', secure: config.secure, maxAge });
}

export function clearCookie(reply: FastifyReply, config: Config, name: string): void {
  setCookie(reply, config, name, '', 0);
}

export const cookie = (request: FastifyRequest, name: string): string | undefined => request.cookies[name] || undefined;
