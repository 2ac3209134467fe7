import type { FastifyInstance } from 'fastify';
import { completeSignIn } from '../authentication/sessions/complete-sign-in.ts';
import { redirectAfterSignIn, signInRequestOf } from '../authentication/sessions/return-target.ts';
import { countWaiting } from '../clients/find-clients.ts';
import type { Deps } from '../oauth/deps.ts';
import { addOperations } from '../platform/http/operation.ts';
import { readForm } from '../platform/http/parameters.ts';
import { expectCookie, isOfBlockedCookies, requireCookie } from '../platform/pages/cookie-check.ts';
import { maxCount, sendPage, type TabCounts } from '../platform/pages/page.ts';
import { answerForm } from '../platform/pages/page-routes.ts';
import { ttlCache } from '../platform/ttl-cache.ts';
import { apiOperations } from './apis/operations.ts';
import { apiPageRoutes } from './apis/page-routes.ts';
import { attributeOperations } from './attributes/operations.ts';
import { attributePageRoutes } from './attributes/page-routes.ts';
import { auditOperations } from './audit/operations.ts';
import { auditPageRoutes } from './audit/page-routes.ts';
import { brandOperations } from './brand/operations.ts';
import { brandPageRoutes } from './brand/page-routes.ts';
import { clientHostRoutes } from './clients/host-routes.ts';
import { clientOperations } from './clients/operations.ts';
import { ownerlessClientRoutes } from './clients/ownerless-routes.ts';
import { clientPageRoutes } from './clients/page-routes.ts';
import { reviewMailRoutes } from './clients/review-mail-routes.ts';
import { entitlementOperations } from './entitlements/operations.ts';
import { entitlementPageRoutes } from './entitlements/page-routes.ts';
import { groupOperations } from './groups/operations.ts';
import { groupPageRoutes } from './groups/page-routes.ts';
import { acceptInvitation, findInvitation, spentInvitation } from './invite-administrator.ts';
import { keyOperations } from './keys/operations.ts';
import { keyPageRoutes } from './keys/page-routes.ts';
import { mailOperations } from './mails/operations.ts';
import { mailPageRoutes } from './mails/page-routes.ts';
import { overviewPageRoutes } from './overview/page-routes.ts';
import { invitationPage } from './pages.ts';
import { providerOperations } from './providers/operations.ts';
import { providerPageRoutes } from './providers/page-routes.ts';
import { searchPageRoutes } from './search/page-routes.ts';
import { serviceCredentialOperations } from './service-credentials/operations.ts';
import { serviceCredentialPageRoutes } from './service-credentials/page-routes.ts';
import { settingOperations } from './settings/operations.ts';
import { settingPageRoutes } from './settings/page-routes.ts';
import { signalOperations } from './signals/operations.ts';
import { signalPageRoutes } from './signals/page-routes.ts';
import { accessOperations } from './users/access-operations.ts';
import { accountOperations } from './users/account-operations.ts';
import { alertOperations } from './users/alert-operations.ts';
import { importBodyKb, importOperation } from './users/import-operation.ts';
import { invitationOperations } from './users/invitation-operations.ts';
import { userOperations } from './users/operations.ts';
import { userPageRoutes } from './users/page-routes.ts';
import { recoveryOperations } from './users/recovery-operations.ts';
import { webhookOperations } from './webhooks/operations.ts';
import { webhookPageRoutes } from './webhooks/page-routes.ts';

const config = { page: true } as const;

/** The first administrator arrives by a link that the terminal printed; so do later ones whom the operator invites. */
export async function adminRoutes(app: FastifyInstance, deps: Deps) {
  app.get<{ Params: { token: string } }>('/invite/:token', { config }, async (request, reply) => {
    if (!(await findInvitation(deps, request.params.token))) throw spentInvitation();
    const view = request.view;
    expectCookie(deps, request, reply);
    return sendPage(reply, view, invitationPage(view, request.params.token));
  });

  app.post<{ Params: { token: string } }>('/invite/:token', { config }, async (request, reply) => {
    const { token } = request.params;
    const form = readForm(request.body);
    const { email = '', name = '', password = '' } = form;
    return answerForm(reply, request.view, {
      async act() {
        requireCookie(deps, request, reply); // before the link is used up
        const user_id = await acceptInvitation(deps, token, { email, name, password, address: request.ip });
        const signInRequest = await signInRequestOf(deps, request, { next: '/admin' });
        const outcome = await completeSignIn(deps, { user_id, methods: ['pwd'], secondStep: false }, signInRequest);
        return outcome ? redirectAfterSignIn(deps, reply, signInRequest, outcome) : '/signin?stay=1';
      },
      redraw: ({ problems }, problem) => invitationPage(request.view, token, { form, problems, problem }),
      explains: (refusal) => refusal.problems.length > 0 || isOfBlockedCookies(refusal),
    });
  });
}

/** `/v1/admin/...`: the same use-cases as the pages and the command line. */
export async function adminApiRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [
    ...Object.values(clientOperations),
    ...Object.values(userOperations),
    ...Object.values(accountOperations),
    ...Object.values(invitationOperations),
    ...Object.values(accessOperations),
    ...Object.values(recoveryOperations),
    ...Object.values(alertOperations),
    ...Object.values(entitlementOperations),
    ...Object.values(keyOperations),
    ...Object.values(groupOperations),
    ...Object.values(attributeOperations),
    ...Object.values(apiOperations),
    ...Object.values(serviceCredentialOperations),
    ...Object.values(webhookOperations),
    ...Object.values(signalOperations),
    ...Object.values(providerOperations),
    ...Object.values(auditOperations),
    ...Object.values(settingOperations),
    ...Object.values(mailOperations),
    ...Object.values(brandOperations),
  ]);
  await app.register(async (imports) => {
    imports.addHook('onRoute', (route) => {
      route.bodyLimit = Math.max(importBodyKb, deps.config.limits.bodyKb) * 1024;
    });
    addOperations(imports, deps, [importOperation]);
  });
}

/** Administration for people, one line an area. What they do is what `/v1/admin/…` and the command line do. */
export async function adminPageRoutes(app: FastifyInstance, deps: Deps) {
  countWhatWaits(app, deps);
  await overviewPageRoutes(app, deps);
  await searchPageRoutes(app, deps);
  await clientPageRoutes(app, deps);
  await ownerlessClientRoutes(app, deps);
  await clientHostRoutes(app, deps);
  await reviewMailRoutes(app, deps);
  await userPageRoutes(app, deps);
  await entitlementPageRoutes(app, deps);
  await groupPageRoutes(app, deps);
  await attributePageRoutes(app, deps);
  await apiPageRoutes(app, deps);
  await serviceCredentialPageRoutes(app, deps);
  await webhookPageRoutes(app, deps);
  await signalPageRoutes(app, deps);
  await providerPageRoutes(app, deps);
  await keyPageRoutes(app, deps);
  await auditPageRoutes(app, deps);
  await brandPageRoutes(app, deps);
  await settingPageRoutes(app, deps);
  await mailPageRoutes(app, deps);
}

/** For the navigation of each page that is added to `app`. */
function countWhatWaits(app: FastifyInstance, deps: Deps): void {
  const counts = ttlCache<TabCounts>('reviews', deps.clock, async () => ({
    admin_clients: await countWaiting(deps, maxCount + 1),
  }));
  app.addHook('preHandler', async (request) => {
    request.tabCounts = await counts.find('');
  });
}
