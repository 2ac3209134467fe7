import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isPrivileged } from '../../accounts/roles.ts';
import { findUser, type User } from '../../accounts/statements.ts';
import { now } from '../../platform/clock.ts';
import { clearCookie, cookie, cookieNames } from '../../platform/http/cookies.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { ownWords } from '../../platform/pages/brand-parts.ts';
import { refusalOfBlockedCookies } from '../../platform/pages/cookie-check.ts';
import { alert, hidden } from '../../platform/pages/form.ts';
import { type Html, html, namedEmail } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { type View, viewOf } from '../../platform/pages/view.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import type { Deps } from '../deps.ts';
import { passkeyForm, passkeyScripts } from '../passkeys/page.ts';
import { pendingRequestOf } from '../sessions/browser.ts';
import { cancelForm } from '../sessions/page.ts';
import { findPendingSignIn, type PendingSignIn } from '../sessions/pending-sign-ins.store.ts';
import {
  appOf,
  continuesTo,
  endOf,
  type ForApp,
  localPath,
  type ReturnTarget,
  redirectAfterSignIn,
  returnTargetQuery,
  signInRequestOf,
} from '../sessions/return-target.ts';
import { checkCode } from './check-code.ts';

const path = '/signin/second-factor';
const config = { page: true } as const;

/** The page between the first factor and the session (decisions §9). */
export async function secondStepRoutes(app: FastifyInstance, deps: Deps) {
  app.get(path, { config }, async (request, reply) => {
    const pending = await readPendingSignIn(deps, request);
    if (!pending) return startAgain(deps, reply);
    const backup = request.queryParameters.backup === '1';
    return sendPage(reply, pending.view, secondFactorPage(pending.view, { ...pending.form, backup }));
  });

  app.post(path, { config }, async (request, reply) => {
    const { code = '', backup, trust } = readForm(request.body);
    const trusts = trust !== undefined;
    const pending = await readPendingSignIn(deps, request);
    if (!pending) return startAgain(deps, reply);
    const { view, form, returnTarget, token } = pending;
    const page = (problem: Html | false) =>
      secondFactorPage(view, { ...form, problem, trusts, backup: backup === '1' });
    const signInRequest = await signInRequestOf(deps, request, returnTarget);
    return answerForm(reply, view, {
      async act() {
        const verdict = await checkCode(deps, token, { code, trusts }, signInRequest);
        if (verdict.kind === 'passed') return redirectAfterSignIn(deps, reply, signInRequest, verdict.outcome);
        if (verdict.kind === 'over') return startAgain(deps, reply, returnTarget);
        if (verdict.triesLeft > 0) return { ...page(alert(view.t('second_factor.wrong', verdict))), status: 401 };
        clearCookie(reply, deps.config, cookieNames(deps.config).attempt);
        return { ...signInEndedPage(view, form, deps.config.limits.codesPerSignIn), status: 401 };
      },
      redraw: (_, problem) => page(problem),
      explains: ({ status }) => status === 403 || status === 429,
    });
  });
}

/** @throws {RequestError} where that would lead around in a circle. */
export function startAgain(deps: Deps, reply: FastifyReply, returnTarget: ReturnTarget = {}) {
  const blocked = refusalOfBlockedCookies(deps, reply.request);
  if (blocked) throw blocked;
  clearCookie(reply, deps.config, cookieNames(deps.config).attempt);
  return reply.redirect(`/signin${returnTargetQuery({ ...returnTarget, stay: true })}`, 303);
}

/** The pending sign-in of this browser, and what its page needs. Undefined if there is none, or no longer. */
export async function readPendingSignIn(deps: Deps, request: FastifyRequest) {
  const token = cookie(request, cookieNames(deps.config).attempt);
  if (token === undefined || token.length > 200) return undefined;
  const { codesPerSignIn: maxTries } = deps.config.limits;
  const attempt = await findPendingSignIn(deps.db, { token, maxTries }, now(deps));
  if (!attempt) return undefined;
  const { user_id, methods, request_id, next } = attempt;
  const [user, passkeys] = await Promise.all([findUser(deps.db, user_id), listPasskeys(deps.db, user_id)]);
  const waiting = await pendingRequestOf(deps, request, request_id ?? undefined);
  const returnTarget = { request_id: waiting?.request_id, next: next ?? undefined };
  return {
    token,
    attempt,
    returnTarget,
    view: viewOf(deps, request, waiting?.parameters.ui_locales, user?.locale),
    form: {
      ...returnTarget,
      email: user?.email,
      ...(await appOf(deps, waiting)),
      endsAt: await endOf(deps, waiting, localPath(next, deps.config.baseUrl)),
      offersPasskey: passkeys.length > 0 && !methods.includes('hwk'),
      recoveryDays: offersRecovery(deps, attempt, user) ? deps.config.recoveryWaitDays : undefined,
      trustDays: deps.config.trustedBrowserDays,
    },
  };
}

type SecondFactorForm = ReturnTarget &
  ForApp & {
    /** The alert above the form. */
    problem?: Html | false;
    /** Whose the first factor was. */
    email: string | undefined;
    endsAt?: string;
    /** The user has a passkey, and it was not the first factor. */
    offersPasskey: boolean;
    /** For how many days one waits for the removal of the second factors, where it can be asked for. */
    recoveryDays: number | undefined;
    /** For how many days the browser can be trusted, where the operator allows it, and whether that was chosen. */
    trustDays: number | undefined;
    trusts?: boolean;
    /** The form asks for a backup code, which has letters, or for the digits of the app. Both forms take either. */
    backup?: boolean;
  };

export const secondFactorPage = (view: View, form: SecondFactorForm): Page => ({
  title: view.plain('second_factor.title'),
  words: 'second_step',
  endsAt: form.endsAt,
  scripts: form.offersPasskey ? passkeyScripts : [],
  content: html`<h1>${view.t('second_factor.title')}</h1>
${continuesTo(view, form)}
<p class="soft">${view.t('second_factor.why', { email: form.email !== undefined && namedEmail(form.email) })}</p>
${form.problem}
<form method="post" action="${path}">
${form.backup && hidden('backup', '1')}
<label for="code">${view.t(form.backup ? 'field.backup_code' : 'field.code')}</label>
<input id="code" name="code" type="text" ${
    form.backup
      ? html`autocomplete="off" inputmode="text" autocapitalize="none"`
      : html`autocomplete="one-time-code" inputmode="numeric"`
  }
 autocorrect="off" spellcheck="false" required maxlength="100" autofocus
 aria-describedby="code-hint${form.problem ? ' problem' : ''}">
<p class="hint" id="code-hint">${view.t(form.backup ? 'second_factor.hint.backup' : 'second_factor.hint')}</p>
${!form.backup && form.trustDays !== undefined && trustField(view, form.trustDays, form.trusts)}<button id="second-factor-submit" type="submit">${view.t('second_factor.submit')}</button>
</form>
${
  form.offersPasskey &&
  passkeyForm(view, {
    action: '/signin/second-factor/passkey',
    ceremony: 'get',
    quiet: true,
    button: view.t('passkey.button.second_factor'),
  })
}
<p><a id="second-factor-other" href="${form.backup ? path : `${path}?backup=1`}">${view.t(
    form.backup ? 'second_factor.use_app' : 'second_factor.use_backup',
  )}</a></p>
${lostBoth(view, form.recoveryDays)}
<p><a href="/signin${returnTargetQuery({ ...form, stay: true })}">${view.t('second_factor.start_over')}</a></p>
${cancelForm(view, form)}`,
});

const trustField = (view: View, days: number, isChecked = false): Html =>
  html`<label class="check" for="trust"><input id="trust" name="trust" type="checkbox" value="yes" aria-describedby="trust-hint"${isChecked && html` checked`}>
 ${view.t('second_factor.trust', { days })}</label>
<p class="hint" id="trust-hint">${view.t('second_factor.trust.hint')}</p>
`;

/** From the page of the second step, where a user has lost all that it asks for. */
export const recoveryRequestPath = `${path}/recovery`;

/** Those whom it may be refused for another reason learn that on its page. */
const offersRecovery = (
  { mail }: Pick<Deps, 'mail'>,
  { methods }: Pick<PendingSignIn, 'methods'>,
  user: Pick<User, 'role'> | undefined,
): boolean => mail.works && methods.includes('pwd') && user !== undefined && !isPrivileged(user.role);

/**
 * No mail and no provider leads past a second factor at once, so what is left is a person who looks, or, where the operator
 * allows it, a long wait.
 */
const lostBoth = (view: View, recoveryDays: number | undefined): Html => html`<details id="lost-both">
<summary>${view.t('second_factor.lost')}</summary>
<p>${view.t('second_factor.lost.what')}</p>
${recoveryDays !== undefined && html`<p><a id="lost-recovery" href="${recoveryRequestPath}">${view.t('second_factor.lost.recovery', { days: recoveryDays })}</a></p>\n`}${ownWords(view, 'lost_factors')}
</details>`;

/** After the last wrong code. @param max codes of one sign-in. */
const signInEndedPage = (view: View, form: SecondFactorForm, max: number): Page => ({
  title: view.plain('second_factor.over.title'),
  endsAt: form.endsAt,
  content: html`<h1>${view.t('second_factor.over.title')}</h1>
${alert(view.t('second_factor.over', { max }))}
<p class="actions"><a class="button" href="/signin${returnTargetQuery({ ...form, stay: true })}">${view.t('second_factor.over.again')}</a></p>
${lostBoth(view, undefined)}
${cancelForm(view, form)}`,
});
