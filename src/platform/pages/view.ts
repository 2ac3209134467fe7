import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Clock, isInCalendar, now } from '../clock.ts';
import type { Config } from '../config.ts';
import { cookie, cookieNames, setCookie } from '../http/cookies.ts';
import { type Parameters, parseParameters, queryOf } from '../http/parameters.ts';
import { dateFormat, numberFormat, relativeTimeFormat, withUnit } from '../i18n/formats.ts';
import {
  chooseLocale,
  findLocale,
  inConsole,
  type Locale,
  type MessageDescriptor,
  type MessageKey,
  messageParts,
  regionalTag,
  translatePlain,
} from '../i18n/translate.ts';
import { supportLink } from '../support.ts';
import { type Place, wordsAt } from './brand.ts';
import type { Branding, Look } from './branding.ts';
import { type Html, html, type Renderable } from './html.ts';
import { timeElement } from './times.ts';

/** @returns the message as HTML; values are escaped unless they are Html, and a value that is missing is left out. */
export type Translate = (key: MessageKey, values?: Readonly<Record<string, Renderable>>) => Html;

/** @param shared values of every message, unless it is given others. */
export const translator =
  (locale: Locale, shared: Readonly<Record<string, Renderable>> = {}): Translate =>
  (key, values) =>
    html`${messageParts(locale, key, values ? { ...shared, ...values } : shared)}`;

export type ViewDeps = { readonly branding: Branding; readonly clock: Clock; readonly config: Config };

declare module 'fastify' {
  interface FastifyRequest {
    /** The view of the signed-in user, or of the browser before a session is read. */
    readonly view: View;
    /** Of the query; the first value of each name. Reading it throws `invalid_request` if it is malformed. */
    readonly queryParameters: Parameters;
    /** Of administration, once the role of a session is known. */
    permissions: ReadonlySet<string> | undefined;
  }
}

/** Call it before the routes are added. */
export function decorateRequests(app: FastifyInstance, deps: ViewDeps): void {
  app.decorateRequest('view', {
    getter() {
      return viewOf(deps, this, this.signedInUser?.locale);
    },
  });
  app.decorateRequest('permissions', undefined);
  app.decorateRequest('isForClient', false);
  app.decorateRequest('tabCounts', undefined);
  app.decorateRequest('keptForm', undefined);
  app.decorateRequest('queryParameters', {
    getter() {
      return parseParameters(queryOf(this.url)).values;
    },
  });
}

export type View = {
  readonly locale: Locale;
  /** The same language as it is written in the reader's region, where the browser names one. */
  readonly region: Locale;
  /** Those that the reader can choose. */
  readonly languages: readonly Locale[];
  /** Those of mails and of pages for people, on a page of a console. */
  readonly languagesOfMail: readonly Locale[];
  readonly branding: Look;
  readonly baseUrl: string;
  /** The query of the page; absent where it answers a form, which no link can repeat. */
  readonly query?: string;
  /** Where to ask for help; every message has it in brackets as `{support}`, which is empty where none is set. */
  readonly support: Html | undefined;
  readonly t: Translate;
  /** Whether the role of the reader has it: a page offers only what would work. */
  may(permission: string): boolean;
  /** A message as plain text. */
  plain(key: MessageDescriptor['key'], values?: MessageDescriptor['values']): string;
  /** "3 hours ago". @param at Unix seconds. */
  ago(at: number): Html;
  /** "in 3 hours", rounded up; "now" from then on, for what is late. @param at Unix seconds. */
  until(at: number): Html;
  /** In its largest fitting unit, rounded up: "5 minutes". */
  duration(seconds: number): string;
  /** A day, as it is written in the reader's region. @param at Unix seconds. */
  day(at: number): Html;
};

/** @param preferredLocales after those of the query and before those of the browser. */
export function viewOf(
  deps: ViewDeps,
  request: FastifyRequest,
  ...preferredLocales: (string | null | undefined)[]
): View {
  const browser = [rememberedLanguage(request, deps), request.headers['accept-language']];
  const languages = offeredTo(request, deps.config);
  const locale = chooseLocale(languages, queryLocales(request), ...preferredLocales, ...browser);
  const region = regionalTag(locale, request.headers['accept-language']);
  const query = request.method === 'GET' ? { query: queryOf(request.url) } : {};
  return viewIn(deps, deps.branding.look, {
    ...{ locale, region, languages, ...query },
    may: (permission) => request.permissions?.has(permission) === true,
  });
}

/** What a reader of that language sees, whatever the request. */
export function viewIn(
  deps: Pick<ViewDeps, 'clock' | 'config'>,
  look: Look,
  { locale, ...reader }: Pick<View, 'locale' | 'region' | 'languages' | 'query' | 'may'>,
): View {
  const today = now(deps);
  const { support } = look;
  const contact = support === undefined ? undefined : contactLink(support);
  const t = translator(locale, contact && { support: html` (${contact})` });
  return {
    locale,
    ...reader,
    languagesOfMail: deps.config.languages,
    branding: look,
    baseUrl: deps.config.baseUrl,
    support: contact,
    t: (key, values) => html`${titleOf(look, locale, key) ?? t(key, values)}`,
    plain: (key, values) =>
      titleOf(look, locale, key) ??
      translatePlain(locale, { key, values: { ...(support && { support: ` (${support})` }), ...values } }),
    ago: (at) => timeElement(at, ago(locale, at - today)),
    until: (at) =>
      timeElement(at, at > today ? inTime(locale, at - today) : translatePlain(locale, { key: 'time.now' })),
    duration: (seconds) => duration(locale, seconds),
    day: (at) => timeElement(at, formatDay(reader.region, at), 'day'),
  };
}

/** The headings that a service may say in its own words. */
const titles: { readonly [Key in MessageKey]?: Place } = {
  'signin.title': 'sign_in_title',
  'signup.title': 'sign_up_title',
};

const titleOf = (look: Look, locale: Locale, key: MessageKey): string | undefined =>
  titles[key] && wordsAt(look, titles[key], locale)?.text;

/**
 * Before a page is drawn, and before a mail may be written: both have the newest brand. The requests of apps wait for nothing. Call it before
 * the routes are added.
 */
export function followBrand(app: FastifyInstance, { branding }: Pick<ViewDeps, 'branding'>): void {
  app.addHook('onRoute', (route) => {
    const isWrite = [route.method].flat().some((method) => method !== 'GET' && method !== 'HEAD');
    if (!route.config?.page && !(isWrite && route.url.startsWith('/v1/'))) return;
    route.onRequest = [branding.refresh, route.onRequest ?? []].flat();
  });
}

const consoles = /^\/(?:admin|developer|reference|docs)(?:[/?]|$)/;
const consoleLanguages = new WeakMap<readonly Locale[], readonly Locale[]>();

const offeredTo = ({ url }: FastifyRequest, { languages }: Config): readonly Locale[] =>
  consoles.test(url) ? consoleLanguages.getOrInsertComputed(languages, inConsole) : languages;

function contactLink(support: string): Html {
  const { text, href } = supportLink(support);
  return html`<a href="${href}">${text}</a>`;
}

/** @param locale may have a region. @param at Unix seconds; a stored one may be beyond the calendar. */
export const formatDay = (locale: Locale, at: number): string =>
  isInCalendar(at)
    ? withUnit(locale, dateFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(at * 1000))
    : String(at);

const units = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

function ago(locale: Locale, seconds: number): string {
  const format = relativeTimeFormat(locale, { numeric: 'auto' });
  for (const [unit, length] of units) {
    if (Math.abs(seconds) >= length) return withUnit(locale, format.format(Math.trunc(seconds / length), unit));
  }
  return seconds > 0 ? format.format(0, 'second') : translatePlain(locale, { key: 'time.just_now' });
}

/** The largest unit in which a duration is more than one, so that rounding adds little. */
const unitOf = (seconds: number) => units.find(([, length]) => seconds >= length * 1.5) ?? (['second', 1] as const);

/** Who tries again when it is over is not too early. */
function inTime(locale: Locale, seconds: number): string {
  const [unit, length] = unitOf(seconds);
  return withUnit(locale, relativeTimeFormat(locale).format(Math.ceil(seconds / length), unit));
}

function duration(locale: Locale, seconds: number): string {
  const [unit, length] = unitOf(seconds);
  const format = numberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' });
  return withUnit(locale, format.format(Math.ceil(seconds / length)));
}

/** Long enough for a sign-in; a user's profile has a permanent setting. */
const rememberedSeconds = 86_400;

/**
 * Keeps the language that a user chose on a page for the pages after it: the answer to a form has no query. The
 * `ui_locales` of an authorization request apply to that request alone.
 */
export function rememberLanguage(app: FastifyInstance, { config }: { config: Config }): void {
  app.addHook('onRequest', (request, reply, done) => {
    const wanted = isPageWithQuery(request) ? queryLocales(request) : undefined;
    const locale = wanted === undefined ? undefined : findLocale(wanted);
    if (locale !== undefined) setCookie(reply, config, cookieNames(config).language, locale, rememberedSeconds);
    done();
  });
}

/** Fastify makes `routeOptions` anew each time that they are read. */
const isPageWithQuery = (request: FastifyRequest) =>
  request.method === 'GET' &&
  request.url.includes('?') &&
  !request.url.startsWith('/oauth/') &&
  request.routeOptions.config?.page === true;

const rememberedLanguage = (request: FastifyRequest, { config }: { config: Config }): Locale | undefined =>
  cookie(request, cookieNames(config).language);

/** A malformed query names no language; its route refuses it. */
function queryLocales(request: FastifyRequest): string | undefined {
  try {
    return parseParameters(queryOf(request.url)).values.ui_locales;
  } catch {
    return undefined;
  }
}
