import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { type RequestError, refusal } from '../errors.ts';
import { cookieNames, hasOwnCookie, setCookie } from '../http/cookies.ts';
import { FormText } from '../http/parameters.ts';
import { formIdOf } from './form.ts';

// A browser that blocks cookies can do everything but sign in: it would be shown the form again after the right password, without a
// word. So a page that needs them gives the browser one, and its form says whether it has come back.

type CookieDeps = { readonly config: Config };

/** For a page with a form that ends in a session. */
export function expectCookie({ config }: CookieDeps, request: FastifyRequest, reply: FastifyReply): void {
  if (!hasOwnCookie(config, request)) setCookie(reply, config, cookieNames(config).probe, '1', undefined);
}

/** Every form of a page has an id, and its page had a cookie; a program sends neither. */
const isFormWithoutCookie = ({ config }: CookieDeps, request: FastifyRequest): boolean =>
  request.body instanceof FormText && formIdOf(request.body.text) !== undefined && !hasOwnCookie(config, request);

const key = 'cookies.blocked';
const title = { key: 'error.cookies' } as const;

/**
 * Before a form acts whose page was shown without any cookie. The answer brings one again: the user may allow them now.
 * @throws {RequestError} `invalid_request` if the cookie of the page has not come back; see {@link isOfBlockedCookies}.
 */
export function requireCookie(deps: CookieDeps, request: FastifyRequest, reply: FastifyReply): void {
  if (!isFormWithoutCookie(deps, request)) return;
  expectCookie(deps, request, reply);
  throw refusal('invalid_request', { key }, { title });
}

/** The form explains it, and is sent again. */
export const isOfBlockedCookies = ({ userMessage }: RequestError): boolean => userMessage?.key === key;

/** In the query of the page that {@link tryCookie} has tried it with. */
const mark = 'cookies';

/**
 * For an address to which only a redirect with a cookie leads, when a browser comes without any: it may block them, or be another
 * one than that. It gets a cookie, and comes again.
 * @returns the answer; undefined where the request is to be judged as it is.
 */
export function tryCookie(
  { config }: CookieDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  const isNavigation = request.headers.accept?.includes('text/html') === true;
  if (!isNavigation || hasOwnCookie(config, request) || request.queryParameters[mark] !== undefined) return undefined;
  setCookie(reply, config, cookieNames(config).probe, '1', undefined);
  return reply.redirect(`${request.url}${request.url.includes('?') ? '&' : '?'}${mark}=1`, 303);
}

/**
 * Why the cookie that a step of a sign-in needs is not there.
 * @returns undefined if the browser keeps cookies, as far as one can tell.
 */
export function refusalOfBlockedCookies(deps: CookieDeps, request: FastifyRequest): RequestError | undefined {
  const wasTried = request.queryParameters[mark] !== undefined && !hasOwnCookie(deps.config, request);
  if (!wasTried && !isFormWithoutCookie(deps, request)) return undefined;
  const exit = { path: '/signin', label: 'reset.back' } as const;
  return refusal('invalid_request', { key: 'cookies.blocked.start_again' }, { title, exit });
}
