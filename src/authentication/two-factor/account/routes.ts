import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RequestError } from '../../../platform/errors.ts';
import { cookie, cookieNames } from '../../../platform/http/cookies.ts';
import { readForm } from '../../../platform/http/parameters.ts';
import { sendPage } from '../../../platform/pages/page.ts';
import type { Deps } from '../../deps.ts';
import { requireRecentSession, type Session } from '../../sessions/session.ts';
import type { Owner } from '../change-factors.ts';
import { confirmTotp, wasConfirmedWith } from '../confirm-totp.ts';
import { disableTotp } from '../disable-totp.ts';
import { enrollTotp, pendingEnrollment } from '../enroll-totp.ts';
import { regenerateBackupCodes } from '../regenerate-backup-codes.ts';
import { twoFactorState } from '../two-factor-state.ts';
import { backupCodesPage, disableTotpPage, newBackupCodesPage, totpPage } from './page.ts';

const totpPath = '/account/security/totp';
const backupCodesPath = '/account/security/backup-codes';
const config = { page: true, form: totpPath } as const;
const backupCodesConfig = { page: true, form: backupCodesPath } as const;

/** The pages of the second factor. All of them take a recent sign-in: they show secrets, or change them. */
export async function twoFactorPageRoutes(app: FastifyInstance, deps: Deps) {
  app.get(totpPath, { config }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { done } = request.queryParameters;
    const { view, page } = await totpPageFor(deps, request, session, done === 'on' ? 'totp.already_on' : undefined);
    return sendPage(reply, view, page);
  });

  app.post(`${totpPath}/enroll`, { config }, async (request, reply) => {
    await enrollTotp(deps, await requireRecentSession(deps, request));
    return reply.redirect(totpPath, 303);
  });

  app.post(`${totpPath}/confirm`, { config }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { code = '', end_other_sessions } = readForm(request.body);
    const deviceToken = cookie(request, cookieNames(deps.config).device);
    const confirmation = { code, endOtherSessions: end_other_sessions !== undefined, deviceToken };
    try {
      const codes = await confirmTotp(deps, ownerOf(request, session), confirmation);
      const view = request.view;
      return sendPage(reply, view, newBackupCodesPage(view, codes));
    } catch (error) {
      if (!(error instanceof RequestError) || !['invalid_code', 'invalid_state'].includes(error.code)) throw error;
      if (error.code === 'invalid_state' && (await wasConfirmedWith(deps, session, code))) {
        return reply.redirect(`${totpPath}?done=on`, 303);
      }
      const { view, page } = await totpPageFor(deps, request, session, 'totp.wrong');
      return sendPage(reply, view, page, error.status);
    }
  });

  app.get(`${totpPath}/disable`, { config }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { enabled } = await twoFactorState(deps, session);
    if (!enabled) return reply.redirect(totpPath, 303);
    const view = request.view;
    return sendPage(reply, view, disableTotpPage(view));
  });

  app.post(`${totpPath}/disable`, { config }, async (request, reply) => {
    await disableTotp(deps, ownerOf(request, await requireRecentSession(deps, request)));
    return reply.redirect(totpPath, 303);
  });

  app.get(backupCodesPath, { config: backupCodesConfig }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const state = await twoFactorState(deps, session);
    if (!state.enabled) return reply.redirect(totpPath, 303);
    const view = request.view;
    return sendPage(reply, view, backupCodesPage(view, state));
  });

  // Answered at once and not by a redirect: what is shown once must not wait anywhere to be shown.
  app.post(backupCodesPath, { config: backupCodesConfig }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const codes = await regenerateBackupCodes(deps, ownerOf(request, session));
    const view = request.view;
    return sendPage(reply, view, newBackupCodesPage(view, codes));
  });
}

type TotpNotice = 'totp.wrong' | 'totp.already_on';

async function totpPageFor(deps: Deps, request: FastifyRequest, session: Session, said?: TotpNotice) {
  const view = request.view;
  const [state, enrollment] = await Promise.all([
    twoFactorState(deps, session),
    pendingEnrollment(deps, { ...session, locale: view.locale }),
  ]);
  // The last wrong code ends the pending secret, as its ten minutes do.
  const key = said === 'totp.wrong' && !enrollment ? 'totp.nothing_pending' : said;
  if (key === 'totp.already_on') {
    const notice = state.enabled && view.t(key);
    return { view, page: totpPage(view, { state, enrollment, notice }) };
  }
  return { view, page: totpPage(view, { state, enrollment, problem: key && view.t(key) }) };
}

const ownerOf = (request: FastifyRequest, session: Session): Owner => ({ session, address: request.ip });
