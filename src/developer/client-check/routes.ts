import type { FastifyInstance } from 'fastify';
import { browserToken } from '../../authentication/sessions/browser.ts';
import { findOwnClient } from '../../clients/find-clients.ts';
import type { Deps } from '../../oauth/deps.ts';
import { clearCookie, cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { clientOwner, recentClientOwner } from '../owner.ts';
import { finishTest, startTest, testSeconds } from './flow.ts';
import { testPage, testResultPage } from './page.ts';

const path = '/developer/clients/:client_id/test' as const;

/** The owner of a client runs the flow as that client, and sees each step. */
export async function clientTestRoutes(app: FastifyInstance, deps: Deps) {
  const cookieName = cookieNames(deps.config).clientTest;

  const pages = pagesFor(app, deps, recentClientOwner);
  pages.show(path, async ({ view, client_id, owner }) =>
    testPage(view, await findOwnClient(deps, client_id, owner.owner_user_id)),
  );
  pages.post(path, {
    page: path,
    async act({ client_id, owner: { owner_user_id: user_id }, request, reply }) {
      const client = await findOwnClient(deps, client_id, user_id);
      const browser = { browserToken: () => browserToken(deps, request, reply), address: request.ip };
      const started = await startTest(deps, { client, user_id }, browser);
      setCookie(reply, deps.config, cookieName, started.cookie, testSeconds);
      return started.path;
    },
  });

  // The sign-in was recent when the test began; in a flow that asks for another page it need not be any more.
  pagesFor(app, deps, clientOwner).show(`${path}/callback`, async (context) => {
    const { view, client_id, owner, request, reply, query: answer } = context;
    const { owner_user_id: user_id, caller } = owner;
    const client = await findOwnClient(deps, client_id, user_id);
    clearCookie(reply, deps.config, cookieName);
    const received = { cookie: cookie(request, cookieName), answer, address: request.ip };
    return testResultPage(view, client, await finishTest(deps, { client, user_id, caller }, received));
  });
}
