import type { FastifyInstance, FastifyRequest } from 'fastify';
import { cookie, cookieNames } from '../../platform/http/cookies.ts';
import type { Deps } from '../deps.ts';
import { requireRecentSession, requireSession } from '../sessions/session.ts';
import type { Owner } from './change-factors.ts';
import { confirmTotp } from './confirm-totp.ts';
import { disableTotp } from './disable-totp.ts';
import { enrollTotp } from './enroll-totp.ts';
import { confirm, disable, enroll, readTwoFactor, regenerate } from './operations.ts';
import { regenerateBackupCodes } from './regenerate-backup-codes.ts';
import { readConfirmation } from './requests.ts';
import { twoFactorState } from './two-factor-state.ts';

/** A person's second factor, for programs (specification §4.13 to §4.15). Changes take a recent sign-in. */
export async function twoFactorRoutes(app: FastifyInstance, deps: Deps) {
  const ownerOf = async (request: FastifyRequest): Promise<Owner> => ({
    session: await requireRecentSession(deps, request),
    address: request.ip,
  });

  app.get('/v1/me/2fa', { config: { operation: readTwoFactor } }, async (request) => {
    return twoFactorState(deps, await requireSession(deps, request));
  });

  app.post('/v1/me/2fa/totp/enroll', { config: { operation: enroll } }, async (request) => {
    return enrollTotp(deps, await requireRecentSession(deps, request));
  });

  app.post('/v1/me/2fa/totp/confirm', { config: { operation: confirm } }, async (request) => {
    const owner = await ownerOf(request);
    const deviceToken = cookie(request, cookieNames(deps.config).device);
    return { backup_codes: await confirmTotp(deps, owner, { ...readConfirmation(request.body), deviceToken }) };
  });

  app.delete('/v1/me/2fa/totp', { config: { operation: disable } }, async (request, reply) => {
    await disableTotp(deps, await ownerOf(request));
    return reply.code(204).send();
  });

  app.post('/v1/me/2fa/backup-codes', { config: { operation: regenerate } }, async (request) => {
    return { backup_codes: await regenerateBackupCodes(deps, await ownerOf(request)) };
  });
}
