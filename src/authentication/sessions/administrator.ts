import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../audit/audit.ts';
import type { SessionDeps } from '../../platform/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { refusalMessage } from '../../platform/pages/errors.ts';
import { alert, fieldAlert } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { requireAdministrator } from './session.ts';

/** An administrator at a page: in whose language it is drawn, and on whose behalf things are done. */
export type AdministratorContext = { user_id: string; view: View; caller: Caller; query: Parameters };

/** @throws {RequestError} as requireAdministrator does. */
export async function administratorContext(deps: SessionDeps, request: FastifyRequest): Promise<AdministratorContext> {
  const { user_id } = await requireAdministrator(deps, request);
  return {
    user_id,
    view: request.view,
    caller: { actor: `user:${user_id}`, address: request.ip },
    query: request.queryParameters,
  };
}

/**
 * What a form asked for is done and shown on a page of its own (post/redirect/get); what stands against it is told on
 * the page that had the form, as things are by then.
 * @param steps.act returns where to go on.
 */
export async function answerForm(
  reply: FastifyReply,
  view: View,
  steps: { act: () => Promise<string>; again: (problem: Html | false) => Page | Promise<Page> },
): Promise<FastifyReply> {
  try {
    const next = await steps.act();
    return reply.redirect(next, 303);
  } catch (error) {
    if (!isDisplayable(error)) throw error;
    if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
    return sendPage(reply, view, await steps.again(problemOf(view, error)), error.status);
  }
}

const tellable: readonly RequestError['code'][] = [
  'invalid_request',
  'access_denied',
  'invalid_state',
  'stale_revision',
  'rate_limited',
];

/** What a form may be refused with, and its page can say. */
export const isDisplayable = (error: unknown): error is RequestError =>
  error instanceof RequestError && tellable.includes(error.code);

/** A sentence that exists in English only is better than none. */
export function problemOf(view: View, error: RequestError): Html | false {
  if (error.problems.length > 0) return fieldAlert(view, error.problems);
  if (error.userMessage === undefined && error.code === 'stale_revision') return alert(view.t('admin.problem.stale'));
  if (error.userMessage === undefined && error.code === 'invalid_state') return alert(view.t('admin.problem.state'));
  return alert(refusalMessage(view, error) ?? html`<span lang="en">${error.message}</span>`);
}
