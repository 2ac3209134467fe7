import type { FastifyInstance } from 'fastify';
import { signedIn } from '../../authentication/sessions/session.ts';
import { findAnyClient } from '../../clients/find-clients.ts';
import { askForReview } from '../../clients/from-outside/ask-for-review.ts';
import { notFound } from '../../platform/errors.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import type { Deps } from '../deps.ts';
import { path, reviewRequestPage, reviewRequestPath } from './review-request-page.ts';

/** For the user of a client that came by itself, who has read that it waits for its review. */
export async function reviewRequestRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesFor(app, deps, signedIn);

  /** Any other client has an owner, who asks for its review. */
  async function fromOutside(client_id: string) {
    const client = await findAnyClient(deps, client_id);
    if (client.origin === null) throw notFound();
    return client;
  }

  pages.show(path, async ({ view, query }) =>
    reviewRequestPage(view, await fromOutside(query.client_id ?? ''), await deps.scopes.read()),
  );

  pages.post(path, {
    page: path,
    async act({ session, caller }, { client_id = '' }) {
      await fromOutside(client_id);
      await askForReview(deps, { client_id, user_id: session.user_id, caller });
      return reviewRequestPath(client_id);
    },
  });
}
