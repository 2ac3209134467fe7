import cookies from '@fastify/cookie';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { adminApiRoutes, adminPageRoutes, adminRoutes } from '../admin/routes.ts';
import { accountLinkRoutes } from '../authentication/account-links/routes.ts';
import { canHavePasskeys } from '../authentication/credentials/webauthn.ts';
import { factorRecoveryRoutes } from '../authentication/factor-recovery/routes.ts';
import { providerLogoRoutes } from '../authentication/federation/logo-routes.ts';
import { federationRoutes } from '../authentication/federation/routes.ts';
import { mailCodeRoutes } from '../authentication/mail-codes/routes.ts';
import { passkeyOfferRoutes } from '../authentication/passkeys/offer-routes.ts';
import { passkeyRoutes } from '../authentication/passkeys/routes.ts';
import { passwordRoutes } from '../authentication/passwords/routes.ts';
import { sessionRoutes } from '../authentication/sessions/routes.ts';
import { signInRoutes } from '../authentication/sign-in/routes.ts';
import { twoFactorRoutes } from '../authentication/two-factor/routes.ts';
import { secondStepRoutes } from '../authentication/two-factor/second-step-routes.ts';
import { setUpRoutes } from '../authentication/two-factor/set-up-routes.ts';
import { upstreamEventRoutes } from '../authentication/upstream-events/routes.ts';
import { logoRoutes } from '../clients/logo-routes.ts';
import { developerRoutes } from '../developer/routes.ts';
import { entitlementRoutes } from '../entitlements/routes.ts';
import { pushedRequestRoutes } from '../oauth/authorize/par-routes.ts';
import { authorizeRoutes } from '../oauth/authorize/routes.ts';
import { connectedAppRoutes } from '../oauth/connected-apps/routes.ts';
import type { Deps } from '../oauth/deps.ts';
import { discoveryRoutes } from '../oauth/discovery/routes.ts';
import { registrationRoutes } from '../oauth/from-outside/registration-routes.ts';
import { reviewRequestRoutes } from '../oauth/from-outside/review-request-routes.ts';
import { logoutRoutes } from '../oauth/logout/routes.ts';
import { myAppsRoutes } from '../oauth/my-apps/routes.ts';
import { statusListRoutes } from '../oauth/status-lists/routes.ts';
import { tokenRoutes } from '../oauth/token/routes.ts';
import { readBodies } from '../platform/http/body-parsers.ts';
import { answerHead, guard, refuseOtherMethods } from '../platform/http/guard.ts';
import { observeRequests } from '../platform/http/observe-requests.ts';
import { schemaController } from '../platform/http/schema-compilers.ts';
import { openServing } from '../platform/http/serving.ts';
import { collectOperations } from '../platform/openapi/document.ts';
import { openApiRoutes } from '../platform/openapi/reference.ts';
import { answerUnroutable, handleErrors } from '../platform/pages/errors.ts';
import { answerFormsOnce } from '../platform/pages/form-answers.ts';
import { assetRoutes } from '../platform/pages/page.ts';
import { decorateRequests, followBrand, rememberLanguage } from '../platform/pages/view.ts';
import { scimRefusals, scimRoutes } from '../scim/routes.ts';
import { activityRoutes } from '../self-service/activity/routes.ts';
import { alertRoutes } from '../self-service/alerts/routes.ts';
import { userRoutes } from '../self-service/delete-account/routes.ts';
import { emailAddressRoutes } from '../self-service/email-address/routes.ts';
import { ownEntitlementRoutes } from '../self-service/entitlements/routes.ts';
import { ownExportRoutes } from '../self-service/export/routes.ts';
import { pictureRoutes } from '../self-service/picture/routes.ts';
import { accountRoutes } from '../self-service/profile/routes.ts';
import { signalRoutes } from '../signals/routes.ts';
import type { Config } from './config.ts';
import { healthRoutes } from './health-routes.ts';
import { openMetrics, type Scrape } from './metrics.ts';
import { metricsRoutes } from './metrics-routes.ts';
import { securityTxtRoutes } from './security-txt-routes.ts';

/** A number counts the proxies that stand before us, nearest first. */
const trustProxy = ({ trustProxy: trusted }: Config) =>
  typeof trusted === 'number' ? (_address: string, hop: number) => hop < trusted : trusted;

/** Of a path parameter, as it is written: the URL of a metadata document is the longest id, and each of its slashes is three characters. */
const longestParameter = 1536;

/** @param scrape of the whole node, if this process is not all of it. */
export async function buildApp(deps: Deps, scrape: Scrape = openMetrics(deps)): Promise<FastifyInstance> {
  const serving = openServing(deps);
  const app: FastifyInstance = fastify({
    logController: new LogController({ disableRequestLogging: true }),
    // Not `loggerInstance`: with that, Fastify listens for the end of every response, to log lines that are turned off.
    childLoggerFactory: () => deps.log as FastifyBaseLogger,
    bodyLimit: deps.config.limits.bodyKb * 1024,
    serverFactory: (handler) => serving.createServer(handler),
    return503OnClosing: false, // its answer would not be ours; requests that still arrive are answered
    trustProxy: trustProxy(deps.config),
    routerOptions: { maxParamLength: longestParameter },
    clientErrorHandler: serving.answerUnreadable,
    frameworkErrors: answerUnroutable(deps),
    schemaController,
    exposeHeadRoutes: false, // answerHead
  });
  app.decorate('serving', serving);
  answerHead(app);
  await app.register(cookies, { hook: false });
  readBodies(app);
  observeRequests(app, deps);
  guard(app, deps);
  handleErrors(app, deps, [scimRefusals]);
  rememberLanguage(app, deps);
  refuseOtherMethods(app, longestParameter);
  decorateRequests(app, deps);
  followBrand(app, deps);
  answerFormsOnce(app, deps);
  const described = collectOperations(app);

  await healthRoutes(app, deps);
  await metricsRoutes(app, deps.config, scrape);
  await securityTxtRoutes(app, deps);
  await assetRoutes(app, deps);
  await discoveryRoutes(app, deps);
  await statusListRoutes(app, deps);
  await authorizeRoutes(app, deps);
  await reviewRequestRoutes(app, deps);
  await registrationRoutes(app, deps);
  await pushedRequestRoutes(app, deps);
  await tokenRoutes(app, deps);
  await logoutRoutes(app, deps);
  await secondStepRoutes(app, deps);
  await signInRoutes(app, deps);
  if (deps.config.mailCodes && deps.mail.works) await mailCodeRoutes(app, deps);
  if (deps.config.recoveryWaitDays !== undefined && deps.mail.works) await factorRecoveryRoutes(app, deps);
  await twoFactorRoutes(app, deps);
  await setUpRoutes(app, deps);
  await passkeyRoutes(app, deps);
  if (canHavePasskeys(deps.config)) await passkeyOfferRoutes(app, deps);
  await accountLinkRoutes(app, deps);
  await passwordRoutes(app, deps);
  await emailAddressRoutes(app, deps);
  await userRoutes(app, deps);
  await federationRoutes(app, deps);
  await upstreamEventRoutes(app, deps);
  await accountRoutes(app, deps);
  await pictureRoutes(app, deps);
  await logoRoutes(app, deps);
  await providerLogoRoutes(app, deps);
  await sessionRoutes(app, deps);
  await connectedAppRoutes(app, deps);
  await myAppsRoutes(app, deps);
  await activityRoutes(app, deps);
  await alertRoutes(app, deps);
  await ownExportRoutes(app, deps);
  await ownEntitlementRoutes(app, deps);
  await entitlementRoutes(app, deps);
  await signalRoutes(app, deps);
  await developerRoutes(app, deps);
  await adminRoutes(app, deps);
  await app.register((pages) => adminPageRoutes(pages, deps)); // its hooks are for these pages alone
  await adminApiRoutes(app, deps);
  await app.register((scim) => scimRoutes(scim, deps)); // its bodies have a type of their own
  await openApiRoutes(app, deps, described);

  return app;
}
