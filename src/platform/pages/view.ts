import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Clock, isInCalendar, now } from '../clock.ts';
import type { Config } from '../config.ts';
import { cookie, cookieNames, setCookie } from '../http/cookies.ts';
import { type Parameters, parseParameters, queryOf } from '../http/parameters.ts';
import {
  chooseLocale,
  type Locale,
  locales,
  type MessageDescriptor,
  type MessageKey,
  messageParts,
  translatePlain,
} from '../i18n/translate.ts';
import type { Branding } from './branding.ts';
import { type Html, html, type Renderable } from './html.ts';

/** @returns the message as HTML; values are escaped unless they are Html, and a value that is missing is left out. */
export type Translate = (key: MessageKey, values?: Readonly<Record<string, Renderable>>) => Html;

export const translator =
  (locale: Locale): Translate =>
  (key, values = {}) =>
    html`${messageParts(locale, key, values)}`;

/** What it takes to draw a page. */
export type ViewDeps = { readonly branding: Branding; readonly clock: Clock; readonly config: Config };

declare module 'fastify' {
  interface FastifyRequest {
    /** The view of the signed-in user, or of the browser before a session is read. */
    readonly view: View;
    /** Of the query; the first value of each name. Reading it throws `invalid_request` if it is malformed. */
    readonly queryParameters: Parameters;
  }
}

/** Call it before the routes are added. */
export function decorateRequests(app: FastifyInstance, deps: ViewDeps): void {
  app.decorateRequest('view', {
    getter() {
      return viewOf(deps, this, this.signedInUser?.locale);
    },
  });
  app.decorateRequest('queryParameters', {
    getter() {
      return parseParameters(queryOf(this.url)).values;
    },
  });
}

/** In whose language and colours a page is drawn. */
export type View = {
  readonly locale: Locale;
  readonly branding: Branding;
  /** The query that the page was asked for with; absent where it answers a form, which no link can repeat. */
  readonly query?: string;
  /** A message as markup. */
  readonly t: Translate;
  /** A message as plain text. */
  plain(key: MessageDescriptor['key'], values?: MessageDescriptor['values']): string;
  /** A moment as people say it: "3 hours ago", or the day when it is long past. @param at Unix seconds. */
  ago(at: number): Html;
  /** A length of time in its largest fitting unit, rounded up: "5 minutes". */
  duration(seconds: number): string;
  /** A day. @param at Unix seconds. */
  day(at: number): Html;
};

/**
 * @param preferredLocales what is known of the person's languages besides the query's `ui_locales` and the browser's own: those of
 * the waiting authorization request, then the person's setting.
 */
export function viewOf(
  deps: ViewDeps,
  request: FastifyRequest,
  ...preferredLocales: (string | null | undefined)[]
): View {
  const browser = [rememberedLanguage(request, deps), request.headers['accept-language']];
  const view = viewIn(deps, chooseLocale(queryLocales(request), ...preferredLocales, ...browser));
  return request.method === 'GET' ? { ...view, query: queryOf(request.url) } : view;
}

function viewIn(deps: Pick<ViewDeps, 'branding' | 'clock'>, locale: Locale): View {
  const today = now(deps);
  return {
    locale,
    branding: deps.branding,
    t: translator(locale),
    plain: (key, values) => translatePlain(locale, { key, values }),
    ago: (at) => moment(at, ago(locale, at - today)),
    duration: (seconds) => duration(locale, seconds),
    day: (at) => moment(at, formatDay(locale, at)),
  };
}

/** What others have stored may lie beyond the calendar, and a page must not fail for it. */
/** @param at Unix seconds. */
export const formatDay = (locale: Locale, at: number): string =>
  isInCalendar(at)
    ? new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(at * 1000)
    : String(at);

const moment = (at: number, text: string): Html =>
  isInCalendar(at) ? html`<time datetime="${new Date(at * 1000).toISOString()}">${text}</time>` : html`${text}`;

const units = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

function ago(locale: Locale, seconds: number): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  for (const [unit, length] of units) {
    if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit);
  }
  return format.format(0, 'second');
}

function duration(locale: Locale, seconds: number): string {
  const [unit, length] = units.find(([, length]) => seconds >= length * 1.5) ?? (['second', 1] as const);
  const format = new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' });
  return format.format(Math.ceil(seconds / length));
}

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

const rememberedLanguage = (request: FastifyRequest, { config }: { config: Config }): Locale | undefined =>
  cookie(request, cookieNames(config).language);

/** A query that cannot be read names no language; its route says what is wrong with it. */
function queryLocales(request: FastifyRequest): string | undefined {
  try {
    return parseParameters(queryOf(request.url)).values.ui_locales;
  } catch {
    return undefined;
  }
}
