import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { now } from '../../platform/clock.ts';
import { clearCookie, cookie, cookieNames } from '../../platform/http/cookies.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { refusalOfBlockedCookies } from '../../platform/pages/cookie-check.ts';
import { alert } from '../../platform/pages/form.ts';
import { type Html, html, namedEmail } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { type View, viewOf } from '../../platform/pages/view.ts';
import type { Deps } from '../deps.ts';
import { findMailCode, mailCodeSeconds, triesPerMailCode } from '../sessions/mail-codes.store.ts';
import { cancelForm } from '../sessions/page.ts';
import {
  continuesTo,
  type ForApp,
  type ReturnTarget,
  redirectAfterSignIn,
  resolveReturnTarget,
  returnTargetQuery,
  signInRequestOf,
} from '../sessions/return-target.ts';
import { signInWithMailCode } from './sign-in-with-mail-code.ts';

export const mailCodePath = '/signin/code';
const config = { page: true } as const;

/** The page for the code that a mail has brought. `/signin` asks for one. */
export async function mailCodeRoutes(app: FastifyInstance, deps: Deps) {
  app.get(mailCodePath, { config }, async (request, reply) => {
    const asked = await readMailCode(deps, request);
    return asked ? sendPage(reply, asked.view, codePage(asked.view, asked.form)) : startAgain(deps, reply);
  });

  app.post(mailCodePath, { config }, async (request, reply) => {
    const { code = '' } = readForm(request.body);
    const asked = await readMailCode(deps, request);
    if (!asked) return startAgain(deps, reply);
    const { view, form, token } = asked;
    const page = (problem: Html | false) => codePage(view, { ...form, problem });
    const signInRequest = await signInRequestOf(deps, request, form);
    return answerForm(reply, view, {
      async act() {
        const verdict = await signInWithMailCode(deps, { token, code }, signInRequest);
        if (verdict.kind === 'wrong' && verdict.triesLeft > 0)
          return { ...page(alert(view.t('mail_code.wrong', verdict))), status: 401 };
        clearCookie(reply, deps.config, cookieNames(deps.config).mailCode);
        if (verdict.kind === 'passed')
          return redirectAfterSignIn(deps, reply, signInRequest, verdict.outcome, 'mail_code');
        return verdict.kind === 'over' ? startAgain(deps, reply, form) : { ...overPage(view, form), status: 401 };
      },
      redraw: (_, problem) => page(problem),
      explains: ({ status }) => status === 403 || status === 429,
    });
  });
}

function startAgain(deps: Deps, reply: FastifyReply, returnTarget: ReturnTarget = {}) {
  const blocked = refusalOfBlockedCookies(deps, reply.request);
  if (blocked) throw blocked;
  return reply.redirect(`/signin${returnTargetQuery({ ...returnTarget, stay: true })}`, 303);
}

async function readMailCode(deps: Deps, request: FastifyRequest) {
  const token = cookie(request, cookieNames(deps.config).mailCode);
  if (token === undefined || !/^mc_[\w-]{43}$/.test(token)) return undefined;
  const asked = await findMailCode(deps.db, token, now(deps));
  if (!asked) return undefined;
  const returnTarget = await resolveReturnTarget(deps, request, asked);
  return {
    token,
    view: viewOf(deps, request, returnTarget.ui_locales),
    form: { ...returnTarget, email: asked.email },
  };
}

type CodeForm = ReturnTarget & ForApp & { email: string; endsAt?: string; problem?: Html | false };

/** The same whether the address has an account or not. */
const codePage = (view: View, form: CodeForm): Page => ({
  title: view.plain('mail_code.title'),
  endsAt: form.endsAt,
  content: html`<h1>${view.t('mail_code.title')}</h1>
${continuesTo(view, form)}
<p>${view.t('mail_code.sent', { email: namedEmail(form.email), minutes: mailCodeSeconds / 60 })}</p>
${form.problem}
<form method="post" action="${mailCodePath}">
<label for="code">${view.t('field.code')}</label>
<input id="code" name="code" type="text" autocomplete="one-time-code" inputmode="numeric" autocorrect="off" spellcheck="false"
 required maxlength="100" autofocus aria-describedby="code-hint${form.problem ? ' problem' : ''}">
<p class="hint" id="code-hint">${view.t('mail_code.hint')}</p>
<button id="mail-code-submit" type="submit">${view.t('signin.submit')}</button>
</form>
<p class="soft">${view.t('mail_code.nothing')}</p>
<p><a href="/signin${returnTargetQuery({ ...form, stay: true })}">${view.t('mail_code.other')}</a></p>
${cancelForm(view, form)}`,
});

/** After the last wrong code. */
const overPage = (view: View, form: CodeForm): Page => ({
  title: view.plain('mail_code.over.title'),
  endsAt: form.endsAt,
  content: html`<h1>${view.t('mail_code.over.title')}</h1>
${alert(view.t('mail_code.over', { max: triesPerMailCode }))}
<p class="actions"><a class="button" href="/signin${returnTargetQuery({ ...form, stay: true })}">${view.t('second_factor.over.again')}</a></p>
${cancelForm(view, form)}`,
});
