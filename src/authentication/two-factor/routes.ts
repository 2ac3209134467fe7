import type { FastifyInstance } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { addOperations, operation } from '../../platform/http/operation.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { Type } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';
import { mayBeTooShort } from '../passwords/change-password.ts';
import { enrolling, recentlySignedIn, requireRecentSession, signedIn } from '../sessions/session.ts';
import type { Session } from '../sessions/store.ts';
import { confirmTotp, Enrollment, enrollTotp, pendingEnrollment, wasConfirmedWith } from './enroll-totp.ts';
import { disableTotp, regenerateBackupCodes, TwoFactorState, twoFactorState } from './factors.ts';
import { backupCodesPage, disableTotpPage, newBackupCodesPage, totpPage } from './page.ts';

const BackupCodes = Type.Object({
  backup_codes: Type.Array(Type.String(), { description: 'Ten codes. Each works once; they are never shown again.' }),
});

const tag = '2FA';
const change = { access: recentlySignedIn, tag } as const;

const readTwoFactor = operation({
  id: 'readTwoFactor',
  method: 'GET',
  path: '/v1/me/2fa',
  access: signedIn,
  tag,
  summary: 'Get the state of your second factor',
  description: 'Authenticator app, backup codes and passkeys, without any secret.',
  answer: { description: 'The second factors that are set up.', schema: TwoFactorState },
  run: (deps: Deps, { session }) => twoFactorState(deps, session),
});

const enroll = operation({
  ...change,
  access: enrolling,
  id: 'enrollTotp',
  method: 'POST',
  path: '/v1/me/2fa/totp/enroll',
  summary: 'Create a TOTP secret',
  description:
    'A new secret each time, valid for ten minutes. An active one stays active until the new one is confirmed.',
  answer: {
    description: 'For an authenticator app: SHA-1, six digits, 30 seconds.',
    schema: Enrollment,
  },
  run: (deps: Deps, { session }) => enrollTotp(deps, session),
});

const confirm = operation({
  ...change,
  access: enrolling,
  id: 'confirmTotp',
  method: 'POST',
  path: '/v1/me/2fa/totp/confirm',
  summary: 'Turn TOTP on with the first code',
  description:
    'In the session that created the secret. The code is consumed; five wrong codes discard the pending secret. The session continues with its cookie and counts as authenticated with both factors.',
  body: Type.Object(
    {
      code: Type.String({ maxLength: 100, description: 'The six digits shown by the app.' }),
      end_other_sessions: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'Whether every other session ends, with the app access that came from it.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  example: { code: '123456' },
  answer: { description: 'TOTP is required from now on.', schema: BackupCodes },
  refusals: ['invalid_code', 'invalid_state', 'rate_limited'],
  run: async (deps: Deps, { body: { code, end_other_sessions = false }, ...user }) => ({
    backup_codes: await confirmTotp(deps, user, code, end_other_sessions),
  }),
});

const disable = operation({
  ...change,
  id: 'disableTotp',
  method: 'DELETE',
  path: '/v1/me/2fa/totp',
  summary: 'Turn TOTP off',
  description: 'Deletes the backup codes as well.',
  answer: { description: 'TOTP is no longer required.' },
  refusals: ['invalid_state', 'rate_limited'],
  run: (deps: Deps, signedIn) => disableTotp(deps, signedIn),
});

const regenerate = operation({
  ...change,
  id: 'regenerateBackupCodes',
  method: 'POST',
  path: '/v1/me/2fa/backup-codes',
  summary: 'Create new backup codes',
  description: 'Replaces all earlier codes.',
  answer: { description: 'Ten new codes.', schema: BackupCodes },
  refusals: ['invalid_state', 'rate_limited'],
  run: async (deps: Deps, signedIn) => ({ backup_codes: await regenerateBackupCodes(deps, signedIn) }),
});

const totpPath = '/account/security/totp';
const backupCodesPath = '/account/security/backup-codes';

/**
 * A user's own second factor (specification §4.13 to §4.15). The pages require a recent sign-in: they show secrets, or
 * change them.
 */
export async function twoFactorRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [readTwoFactor, enroll, confirm, disable, regenerate]);
  const pages = pagesFor(app, deps, recentlySignedIn);

  pages.show(totpPath, ({ session, view, query }) =>
    currentTotpPage(deps, session, view, query.done === 'on' ? 'totp.already_on' : undefined),
  );
  pages.run(enroll, { path: `${totpPath}/enroll`, page: totpPath, done: totpPath });
  pages.post(`${totpPath}/confirm`, {
    page: totpPath,
    async act(user, { code = '', end_other_sessions }) {
      try {
        return newBackupCodesPage(user.view, await confirmTotp(deps, user, code, end_other_sessions !== undefined));
      } catch (error) {
        const isReload = error instanceof RequestError && error.code === 'invalid_state';
        if (isReload && (await wasConfirmedWith(deps, user.session, code))) return `${totpPath}?done=on`;
        throw error;
      }
    },
    redraw: ({ session, view }) => currentTotpPage(deps, session, view, 'totp.wrong'),
    explains: ({ code }) => code === 'invalid_code' || code === 'invalid_state',
  });
  pages.run(disable, { path: `${totpPath}/disable`, page: totpPath, done: totpPath });
  // Answered at once and not by a redirect: the codes are stored nowhere.
  pages.run(regenerate, {
    path: backupCodesPath,
    page: backupCodesPath,
    done: ({ backup_codes }, { view }) => newBackupCodesPage(view, backup_codes),
  });

  const showIfActive = (path: string, page: (view: View, state: TwoFactorState, isShort: boolean) => Page) =>
    app.get(path, { config: { page: true } }, async (request, reply) => {
      const session = await requireRecentSession(deps, request);
      const state = await twoFactorState(deps, session);
      if (!state.enabled) return reply.redirect(totpPath, 303);
      return sendPage(reply, request.view, page(request.view, state, await mayBeTooShort(deps, session.user_id)));
    });
  showIfActive(`${totpPath}/disable`, (view, _, isShort) => disableTotpPage(view, isShort));
  showIfActive(backupCodesPath, backupCodesPage);
}

async function currentTotpPage(deps: Deps, session: Session, view: View, said?: 'totp.wrong' | 'totp.already_on') {
  const [state, enrollment] = await Promise.all([
    twoFactorState(deps, session),
    pendingEnrollment(deps, { ...session, locale: view.locale }),
  ]);
  if (said === 'totp.already_on') {
    return totpPage(view, { state, enrollment, notice: state.enabled && view.t(said) });
  }
  // The last wrong code ends the pending secret, as its ten minutes do.
  const key = said === 'totp.wrong' && !enrollment ? 'totp.nothing_pending' : said;
  return totpPage(view, { state, enrollment, problem: key && view.t(key) });
}
