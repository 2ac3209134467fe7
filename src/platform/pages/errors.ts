import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { now } from '../clock.ts';
import { ForeignKeyViolation, OutcomeUnknown, StoreUnavailable, storeReason } from '../db/db.ts';
import {
  type ErrorCode,
  type ExitLink,
  invalidRequest,
  notFound,
  outcomeUnknown,
  RequestError,
  refusal,
  serverError,
  unavailable,
} from '../errors.ts';
import { answerHeaders } from '../http/guard.ts';
import { FormText, fillPath, type Parameters, parseParameters } from '../http/parameters.ts';
import { hasChangedSomething } from '../http/serving.ts';
import type { MessageDescriptor, MessageKey } from '../i18n/translate.ts';
import { newId } from '../ids.ts';
import { unfinishedAt } from './form.ts';
import { type Html, html, untrustedUrl } from './html.ts';
import { type KeptFormDeps, keepInterruptedForm } from './kept-forms.ts';
import { type Page, sendPage } from './page.ts';
import { type View, type ViewDeps, viewOf } from './view.ts';

/** Of a 5xx answer, and on each page of an error: the id under which it is logged. */
const failureHeader = 'x-request-id';

/** What refusals are to programs of a standard of its own: of all paths that begin so, unknown ones too. */
export type RefusalFormat = { prefix: string; type: string; bodyOf(refusal: RequestError): object };

declare module 'fastify' {
  interface FastifyInstance {
    refusalFormats?: readonly RefusalFormat[];
  }
}

/** Whatever a route has thrown becomes a JSON body, or a page for people. */
export function handleErrors(
  app: FastifyInstance,
  deps: ViewDeps & KeptFormDeps,
  formats: readonly RefusalFormat[] = [],
) {
  app.decorate('refusalFormats', formats);
  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    const refusal = refusalOf(error, request);
    const failed = refusal.status >= 500;
    // The pattern of the route, because a URL may contain a secret.
    const id = request.requestId || newId('req');
    const asked = { id, method: request.method, route: request.routeOptions.url };
    const log = { err: failed ? error : undefined, request: asked, code: refusal.code, cause: reasonOf(refusal) };
    if (failed) reply.header(failureHeader, id);
    // Not our failure, and a visitor can cause it at will.
    if (refusal.code === 'upstream_failed') request.log.warn({ ...log, err: undefined }, 'upstream failed');
    // In an outage every request fails alike, and the stack leads to the driver.
    else if (error instanceof StoreUnavailable)
      request.log.error({ ...log, err: undefined, reason: storeReason(error) }, 'failed');
    else if (failed) request.log.error(log, 'failed');
    else request.log.debug(log, 'refused');
    if (refusal.code === 'reauthentication_required' && wantsPage(request, refusal))
      await keepInterruptedForm(deps, request);
    return sendRefusal(deps, request, reply, refusal, id);
  });
  app.setNotFoundHandler((request, reply) => sendRefusal(deps, request, reply, notFound()));
}

/** Paths that Fastify's router cannot take apart; its own answers would repeat what was sent. */
export const answerUnroutable =
  (deps: ViewDeps) =>
  ({ code }: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    reply.headers(answerHeaders(deps.config));
    reply.header('connection', 'close'); // nothing else about the request has been checked, not even its length
    const isLongId = code === 'FST_ERR_MAX_PARAM_LENGTH'; // unknown, since no id of ours is so long
    sendRefusal(deps, request, reply, isLongId ? notFound() : invalidRequest('The URL is malformed.'));
  };

export function sendRefusal(
  deps: ViewDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: RequestError,
  id?: string,
): FastifyReply {
  request.refusedAs = refusal.code;
  if (refusal.retryAfter !== undefined) reply.header('retry-after', refusal.retryAfter);
  const challenge = challengeOf(deps, request, refusal);
  if (challenge) reply.header('www-authenticate', challenge);
  reply.headers(refusal.headers);
  const format = request.server.refusalFormats?.find(({ prefix }) => request.url.startsWith(prefix));
  if (format !== undefined) return reply.code(refusal.status).type(format.type).send(format.bodyOf(refusal));
  if (wantsPage(request, refusal)) {
    const signInPath = signInPathFor(request, refusal);
    if (signInPath !== undefined) return reply.redirect(signInPath, 303);
    const view = { ...viewOf(deps, request), query: undefined }; // the refused query is not repeated, not even in a link
    return sendPage(reply, view, errorPage(view, refusal, { url: request.url, at: now(deps), id }), refusal.status);
  }
  return reply
    .code(refusal.status)
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send({ error: refusal.code, error_description: refusal.message, ...refusal.details });
}

/** A browser is redirected to sign in, and then back. */
function signInPathFor(request: FastifyRequest, { signInPage }: RequestError): string | undefined {
  if (signInPage === undefined) return undefined;
  const next = request.method === 'GET' ? request.url : pathAfterForm(request);
  return `${signInPage}?${new URLSearchParams({ next })}`;
}

/** The page of the form that was sent, as it was. Where it leads on, it checks itself. */
function pathAfterForm({ routeOptions: { config }, params, body }: FastifyRequest): string {
  const { form, formQuery = [] } = config;
  if (form === undefined) return '/account';
  const sent = formQuery.length > 0 && body instanceof FormText ? parseParameters(body.text).values : {};
  const query = Object.entries(sent).filter((entry): entry is [string, string] => formQuery.includes(entry[0]));
  return unfinishedAt(fillPath(form, params as Parameters), Object.fromEntries(query));
}

type Occurrence = { url: string; at: number; id: string | undefined };

/** For people, whose browser a problem has left without the page that they wanted. */
export function errorPage(view: View, refusal: RequestError, occurrence: Occurrence): Page {
  const message = refusalMessage(view, refusal);
  const { key: heading, values } = headingOf(refusal);
  const advice = adviceFor(refusal);
  const exit = exitOf(refusal, occurrence.url);
  const needsContact = view.support !== undefined && !message?.toString().includes(view.support.toString());
  return {
    title: view.plain(heading, values),
    words: 'error',
    content: html`<h1>${view.t(heading, values)}</h1>
${message === undefined ? html`<p lang="en">${refusal.message}</p>` : html`<p>${message}</p>`}
${advice && html`<p class="soft">${view.t(advice)}</p>`}
${refusal.status >= 500 && occurrence.id && html`<p class="hint">${view.t('error.reference', { id: html`<code>${occurrence.id}</code>` })}</p>`}
<p><a class="button" id="way-back" href="${exit.path}">${view.t(exit.label)}</a></p>
${needsContact && html`<p class="soft" id="support">${view.t('error.support', { link: view.support })}</p>`}
${refusal.status !== 404 && forDeveloper(view, refusal, occurrence)}`,
  };
}

/**
 * What a developer is asked for, or looks up in the log; where no client is at fault, the operator does. Nothing of it is a
 * link but the one to the developer's own console.
 */
function forDeveloper(view: View, refusal: RequestError, { at, id }: Occurrence): Html {
  const { code, message, sent, developerPath } = refusal;
  const values = Object.entries(sent).filter(([, value]) => value !== undefined);
  return html`<details id="for-developer">
<summary>${view.t(values.length > 0 || developerPath !== undefined ? 'error.developer' : 'error.details')}</summary>
<dl>
<dt><code>error</code></dt><dd><code>${code}</code></dd>
<dt><code>error_description</code></dt><dd lang="en">${message}</dd>
${values.map(
  ([name, value]) => html`<dt><code>${name}</code></dt><dd lang="zxx">${untrustedUrl(value!)}</dd>
`,
)}
<dt>${view.t('error.developer.time')}</dt><dd>${new Date(at * 1000).toISOString()}</dd>
${id !== undefined && html`<dt>${view.t('error.developer.request')}</dt><dd><code>${id}</code></dd>`}
</dl>
${developerPath !== undefined && html`<p class="hint">${view.t('error.for_developer', { link: html`<a id="failures" href="${developerPath}">${view.t('developer.activity')}</a>` })}</p>`}
</details>`;
}

const areas: readonly ExitLink[] = [
  { path: '/admin', label: 'error.to_admin' },
  { path: '/developer', label: 'error.to_developer' },
];

/** After 403 not to the area itself, which may be what was refused. */
function exitOf({ status, exit }: RequestError, url: string): ExitLink {
  if (exit !== undefined) return exit;
  const above = areas.find(({ path }) => status === 404 && url.startsWith(`${path}/`));
  return above ?? { path: '/account', label: 'error.to_account' };
}

/** Only where the sentence above it does not say it. */
function adviceFor({ status, userMessage }: RequestError): MessageKey | undefined {
  if (userMessage?.key === 'refusal.outcome_unknown') return 'error.advice.unknown';
  if (status >= 500) return 'error.advice.later';
  if (status === 404) return 'error.advice.nothing';
  return userMessage ? undefined : 'error.advice.back';
}

const headings: Partial<Record<ErrorCode, MessageKey>> = {
  access_denied: 'error.denied',
  not_found: 'error.nothing',
  invalid_state: 'error.impossible',
  stale_revision: 'error.changed',
  content_too_large: 'error.too_large',
  rate_limited: 'error.too_many',
  temporarily_unavailable: 'error.unavailable',
};

function headingOf({ status, code, title, userMessage }: RequestError): MessageDescriptor {
  if (title !== undefined) return title;
  if (userMessage?.key === 'refusal.outcome_unknown') return { key: 'error.unconfirmed' };
  return { key: headings[code] ?? (status >= 500 ? 'error.ours' : 'error.refused') };
}

/**
 * On an address for people unless they ask for JSON; only if they ask for a page on an unknown address, and on one that takes another
 * method, where the route may be that of a page with a parameter in its place.
 */
const wantsPage = (request: FastifyRequest, { code }: Pick<RequestError, 'code'>): boolean =>
  request.is404 || code === 'method_not_allowed'
    ? request.headers.accept?.includes('text/html') === true
    : request.routeOptions.config?.page === true && !prefersJson(request);

const prefersJson = ({ headers: { accept = '' } }: FastifyRequest) =>
  accept.includes('application/json') && !accept.includes('text/html');

/** RFC 6749 §5.2 and RFC 6750 §3: which credentials the endpoint takes. */
function challengeOf({ config }: Pick<ViewDeps, 'config'>, request: FastifyRequest, refusal: RequestError) {
  if (refusal.code === 'invalid_client') return `Basic realm="${config.baseUrl}", charset="UTF-8"`;
  if (refusal.code === 'invalid_token' || refusal.code === 'insufficient_scope') {
    const scope = refusal.scope === undefined ? '' : `, scope="${refusal.scope}"`;
    const scheme = request.headers.authorization?.toLowerCase().startsWith('dpop ') ? 'DPoP' : 'Bearer';
    return `${scheme} error="${refusal.code}", error_description="${refusal.message}"${scope}`;
  }
  if (refusal.status === 401 && (refusal.code === 'use_dpop_nonce' || refusal.code === 'invalid_dpop_proof'))
    return `DPoP error="${refusal.code}", error_description="${refusal.message}"`;
  return request.routeOptions.url === '/oauth/userinfo' && refusal.status === 400
    ? 'Bearer error="invalid_request"'
    : undefined;
}

const reasonOf = ({ cause }: RequestError) =>
  cause instanceof Error ? cause.name : typeof cause === 'string' ? cause : undefined;

/** Fastify's own refusals, in our words; everything unforeseen is a `server_error` without details. */
function refusalOf(error: Error & { code?: string; statusCode?: number }, request: FastifyRequest): RequestError {
  // Of a part of ours that failed: what it says of changes holds for what it would have changed itself.
  const isOutage = error instanceof RequestError && error.code === 'temporarily_unavailable' && !error.userMessage;
  if (isOutage && hasChangedSomething()) return outcomeUnknown(error);
  if (error instanceof RequestError) return error;
  if (error instanceof OutcomeUnknown) return outcomeUnknown(error);
  // When it is repeated, the request finds that its row is gone, and is refused for that.
  if (error instanceof StoreUnavailable || error instanceof ForeignKeyViolation) {
    return hasChangedSomething() ? outcomeUnknown(error) : unavailable(error);
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const values = { max: request.routeOptions.bodyLimit! / 1024 };
    return refusal('content_too_large', { key: 'refusal.content_too_large', values }, { cause: error });
  }
  const { code = '', statusCode = 500 } = error;
  const malformed = (message: string) => new RequestError('invalid_request', message, { cause: error });
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const isApi = request.url.startsWith('/v1/');
    return malformed(`The body must be application/${isApi ? 'json' : 'x-www-form-urlencoded'}.`);
  }
  return statusCode >= 400 && statusCode < 500 ? malformed('The request is malformed.') : serverError(error);
}

/** What a page says of refusals without a message of their own. Codes that only programs meet have no sentence. */
const sentences: Partial<Record<ErrorCode, MessageKey>> = {
  not_found: 'refusal.not_found',
  invalid_state: 'refusal.invalid_state',
  stale_revision: 'refusal.stale_revision',
  server_error: 'refusal.server_error',
  temporarily_unavailable: 'refusal.temporarily_unavailable',
};

/** A refusal in its reader's language; undefined if it exists in English alone. */
export function refusalMessage(view: View, { userMessage, code, retryAfter }: RequestError): Html | undefined {
  if (userMessage !== undefined) return view.t(userMessage.key, userMessage.values);
  if (code === 'rate_limited') return view.t('signin.too_many', { wait: view.duration(retryAfter ?? 60) });
  return sentences[code] && view.t(sentences[code]);
}
