import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ForeignKeyViolation, OutcomeUnknown, StoreUnavailable, storeReason } from '../db/db.ts';
import {
  type ErrorCode,
  invalidRequest,
  notFound,
  outcomeUnknown,
  RequestError,
  refusal,
  unavailable,
} from '../errors.ts';
import { guardAnswer } from '../http/guard.ts';
import { fillPath } from '../http/parameters.ts';
import type { MessageKey } from '../i18n/translate.ts';
import { newId } from '../ids.ts';
import { unfinishedAt } from './form.ts';
import { type Html, html } from './html.ts';
import { sendPage } from './page.ts';
import { type View, type ViewDeps, viewOf } from './view.ts';

/** On the answers that are our failure, or another server's: under this id it is in the log. */
const failureHeader = 'x-request-id';

/** The last resort of every route: whatever was thrown becomes one JSON body, or a page for somebody who looks at it. */
export function handleErrors(app: FastifyInstance, deps: ViewDeps) {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const refusal = refusalOf(error, request);
    const failed = refusal.status >= 500;
    // Whoever reports a failure can say which one. The pattern of the route, because an address may hold a secret.
    const id = failed ? newId('req') : undefined;
    const asked = { id, method: request.method, route: request.routeOptions.url };
    const log = { err: failed ? error : undefined, request: asked, code: refusal.code, cause: reasonOf(refusal) };
    if (id !== undefined) reply.header(failureHeader, id);
    // Somebody else's failure, which a visitor can bring about at will.
    if (refusal.code === 'upstream_failed') request.log.warn({ ...log, err: undefined }, 'upstream failed');
    // Of an outage every request would tell the same, and its stack leads to the driver.
    else if (error instanceof StoreUnavailable)
      request.log.error({ ...log, err: undefined, reason: storeReason(error) }, 'failed');
    else if (failed) request.log.error(log, 'failed');
    else request.log.debug(log, 'refused');
    return sendRefusal(deps, request, reply, refusal);
  });
  app.setNotFoundHandler((request, reply) => sendRefusal(deps, request, reply, notFound()));
}

/** Paths that Fastify's router cannot take apart; its own answers would repeat what was sent. */
export const answerUnroutable =
  (deps: ViewDeps) =>
  ({ code }: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    // An id longer than any of ours names nothing, like every other unknown id.
    const isTooLong = code === 'FST_ERR_MAX_PARAM_LENGTH';
    guardAnswer(reply, deps.config);
    reply.header('connection', 'close'); // nothing else about the request has been checked, its length among it
    request.cookies = request.server.parseCookie(request.headers.cookie ?? ''); // no hook has run for this request
    sendRefusal(deps, request, reply, isTooLong ? notFound() : invalidRequest('The URL is malformed.'));
  };

export function sendRefusal(
  deps: ViewDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: RequestError,
): FastifyReply {
  if (refusal.retryAfter !== undefined) reply.header('retry-after', refusal.retryAfter);
  const challenge = challengeOf(deps, request, refusal);
  if (challenge) reply.header('www-authenticate', challenge);
  if (wantsPage(request)) {
    const signInPath = signInPathFor(request, refusal);
    if (signInPath !== undefined) return reply.redirect(signInPath, 303);
    const view = viewOf(deps, request);
    return sendErrorPage(view, reply, refusal, exitLinks(request, refusal));
  }
  return reply
    .code(refusal.status)
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send({ error: refusal.code, error_description: refusal.message, ...refusal.details });
}

/** Somebody who looks at a page is not told to sign in but taken there, and back to where they were. */
function signInPathFor(request: FastifyRequest, { code }: RequestError): string | undefined {
  const pages = { login_required: '/signin', reauthentication_required: '/signin/confirm' };
  if (code !== 'login_required' && code !== 'reauthentication_required') return undefined;
  const { form } = request.routeOptions.config;
  const ids = request.params as Record<string, string>;
  const pageOf = (pattern: string) => unfinishedAt(fillPath(pattern, ids));
  const next = request.method === 'GET' ? request.url : form === undefined ? '/account' : pageOf(form);
  return `${pages[code]}?${new URLSearchParams({ next })}`;
}

function sentenceOf(view: View, refusal: RequestError): Html {
  const told = refusalMessage(view, refusal);
  return told === undefined ? html`<p lang="en">${refusal.message}</p>` : html`<p>${told}</p>`;
}

const sendErrorPage = (view: View, reply: FastifyReply, refusal: RequestError, ways: readonly ExitLink[]) =>
  sendPage(
    reply,
    { ...view, query: undefined }, // what was asked for was refused, and is not repeated, not even in a link
    {
      title: view.plain(headingOf(refusal)),
      content: html`<h1>${view.t(headingOf(refusal))}</h1>
${sentenceOf(view, refusal)}
<p class="soft">${view.t(adviceFor(refusal), { code: html`<code>${refusal.code}</code>` })}</p>
${reply.hasHeader(failureHeader) && html`<p class="hint">${view.t('error.reference', { id: html`<code>${String(reply.getHeader(failureHeader))}</code>` })}</p>`}
${refusal.back !== undefined && html`<p><a class="button" id="way-back" href="${refusal.back}">${view.t('error.continue')}</a></p>`}
${ways.length > 0 && html`<p class="actions">${ways.map(({ path, label }) => html`<a href="${path}">${view.t(label)}</a>\n`)}</p>`}`,
    },
    refusal.status,
  );

type ExitLink = { path: string; label: MessageKey };
const areas = [
  { path: '/admin', label: 'error.to_admin' },
  { path: '/developer', label: 'error.to_developer' },
] as const satisfies ExitLink[];

/** Where to go from an address that has nothing for this reader. The area itself may be what was refused. */
function exitLinks({ url }: FastifyRequest, { status, back }: RequestError): ExitLink[] {
  if (back !== undefined || (status !== 404 && status !== 403)) return [];
  const above = areas.filter(({ path }) => status === 404 && url.startsWith(`${path}/`));
  return [...above, { path: '/account', label: 'error.to_account' }];
}

function adviceFor({ status, userMessage }: RequestError): MessageKey {
  if (userMessage?.key === 'refusal.outcome_unknown') return 'error.advice.unknown';
  if (status >= 500) return 'error.advice.later';
  if (status === 404) return 'error.advice.nothing';
  return userMessage ? 'error.advice.plain' : 'error.advice.back';
}

function headingOf({ status, code }: RequestError): MessageKey {
  if (code === 'upstream_failed') return 'error.upstream';
  if (status >= 500) return 'error.ours';
  if (status === 404) return 'error.nothing';
  return 'error.refused';
}

/** On an address for people unless they ask for JSON; on an unknown address only if they ask for a page. */
const wantsPage = (request: FastifyRequest): boolean =>
  request.is404
    ? request.headers.accept?.includes('text/html') === true
    : request.routeOptions.config?.page === true && !prefersJson(request);

const prefersJson = ({ headers: { accept = '' } }: FastifyRequest) =>
  accept.includes('application/json') && !accept.includes('text/html');

/** RFC 6749 §5.2 and RFC 6750 §3: which credentials the endpoint takes. */
function challengeOf({ config }: Pick<ViewDeps, 'config'>, request: FastifyRequest, refusal: RequestError) {
  if (refusal.code === 'invalid_client') return `Basic realm="${config.baseUrl}", charset="UTF-8"`;
  if (refusal.code === 'invalid_token' || refusal.code === 'insufficient_scope') {
    const scope = refusal.scope === undefined ? '' : `, scope="${refusal.scope}"`;
    return `Bearer error="${refusal.code}", error_description="${refusal.message}"${scope}`;
  }
  return request.routeOptions.url === '/oauth/userinfo' && refusal.status === 400
    ? 'Bearer error="invalid_request"'
    : undefined;
}

const reasonOf = ({ cause }: RequestError) =>
  cause instanceof Error ? cause.name : typeof cause === 'string' ? cause : undefined;

const tooLarge = ({ server }: FastifyRequest) => ({
  key: 'refusal.content_too_large' as const,
  values: { most: server.initialConfig.bodyLimit! / 1024 },
});

/** Fastify's own refusals, in our words; everything unforeseen is a `server_error` without details. */
function refusalOf(error: Error & { code?: string; statusCode?: number }, request: FastifyRequest): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof OutcomeUnknown) return outcomeUnknown(error);
  // Asked again, the request finds that what it was about is gone, and says so.
  if (error instanceof StoreUnavailable || error instanceof ForeignKeyViolation) return unavailable(error);
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return refusal('content_too_large', tooLarge(request), { cause: error });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new RequestError('invalid_request', expectedMediaType(request), { cause: error });
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return new RequestError('invalid_request', 'The body is not valid JSON.', { cause: error });
  }
  const isClientFault = error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500;
  return isClientFault
    ? new RequestError('invalid_request', 'The request is malformed.', { cause: error })
    : new RequestError('server_error', 'An unexpected error occurred. It has been logged.', { cause: error });
}

const expectedMediaType = (request: FastifyRequest) =>
  request.url.startsWith('/v1/')
    ? 'The body must be application/json.'
    : 'The body must be application/x-www-form-urlencoded.';

/** What is said of a refusal that has no sentence of its own. The others are for who builds on us, in English. */
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
  const key = sentences[code];
  return key === undefined ? undefined : view.t(key);
}
