import type { FastifyInstance } from 'fastify';
import { chooseReviewMails, readerOfToken, wantsNoReviewMails } from '../../clients/declined-mails.ts';
import type { Deps } from '../../oauth/deps.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { hidden } from '../../platform/pages/form.ts';
import { html } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';

/** Bytes of what a mail program sends. */
const bodyLimit = 4096;

/**
 * Stops the daily mails about waiting clients, by the link that each has, and starts them again. A mail program posts here by itself
 * (RFC 8058 §3.2): without cookies, from anywhere, in either form of a form. Looking changes nothing, since programs look at links, too.
 */
export async function reviewMailRoutes(app: FastifyInstance, deps: Deps) {
  const path = '/admin/review-mails/:token';
  const draw = async (view: View, token: string) =>
    reviewMailPage(view, token, await wantsNoReviewMails(deps, readerOfToken(deps, token)));

  app.get<{ Params: { token: string } }>(path, { config: { page: true } }, async (request, reply) =>
    sendPage(reply, request.view, await draw(request.view, request.params.token)),
  );

  await app.register(async (posts) => {
    posts.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, async () => undefined);
    posts.post<{ Params: { token: string } }>(
      path,
      { config: { page: true, anySite: true }, bodyLimit },
      async (request, reply) => {
        const { token } = request.params;
        const form = request.body === undefined ? {} : readForm(request.body);
        await chooseReviewMails(deps, readerOfToken(deps, token), form.wanted === 'yes');
        return sendPage(reply, request.view, await draw(request.view, token));
      },
    );
  });
}

const reviewMailPage = (view: View, token: string, isStopped: boolean): Page => ({
  title: view.plain('admin.review_mails.title'),
  content: html`<h1>${view.t('admin.review_mails.title')}</h1>
<p role="status">${view.t(isStopped ? 'admin.review_mails.stopped' : 'admin.review_mails.sent')}</p>
<form method="post" action="/admin/review-mails/${encodeURIComponent(token)}">
${isStopped && hidden('wanted', 'yes')}<button type="submit" id="review-mails">${view.t(isStopped ? 'admin.review_mails.start' : 'admin.review_mails.stop')}</button></form>`,
});
