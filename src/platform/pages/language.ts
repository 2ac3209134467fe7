import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { cookie, cookieNames, setCookie } from '../http/cookies.ts';
import { parseParameters, queryOf } from '../http/parameters.ts';
import { type Locale, locales } from '../i18n/translate.ts';

/** Long enough for a sign-in with its detours; whoever wants it for good has a setting in their account. */
const rememberedSeconds = 86_400;

/**
 * Keeps the language that somebody chose at the foot of a page for the pages after it: the answer to a form has no
 * query to say it in. What a client asks for in its authorization request is that request's alone.
 */
export function rememberLanguage(app: FastifyInstance, { config }: { config: Config }): void {
  app.addHook('onRequest', (request, reply, done) => {
    const wanted = isPageOfOurs(request) ? queryLocales(request) : undefined;
    if (wanted !== undefined && locales.includes(wanted)) {
      setCookie(reply, config, cookieNames(config).language, wanted, rememberedSeconds);
    }
    done();
  });
}

const isPageOfOurs = ({ method, url, routeOptions }: FastifyRequest) =>
  method === 'GET' && routeOptions.config?.page === true && !url.startsWith('/oauth/');

export const rememberedLanguage = (request: FastifyRequest, { config }: { config: Config }): Locale | undefined =>
  cookie(request, cookieNames(config).language);

/** A query that cannot be read names no language; its route says what is wrong with it. */
export function queryLocales(request: FastifyRequest): string | undefined {
  try {
    return parseParameters(queryOf(request.url)).values.ui_locales;
  } catch {
    return undefined;
  }
}
