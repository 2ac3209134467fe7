import { hidden } from '../http/form.ts';
import { html } from '../http/html.ts';
import type { Page } from '../http/page.ts';
import type { View } from '../http/view.ts';
import { type Goal, goalFields } from '../signin/page.ts';
import type { Provider } from './provider.ts';
import type { Question } from './question.ts';

type LeaveForm = { provider: Provider; goal: Goal; confirm: string | undefined; back: string };

/** For somebody whom another site sends to a provider: a provider that knows the browser would bring them back unasked. */
export const leavePage = (view: View, { provider, goal, confirm, back }: LeaveForm): Page => ({
  title: view.plain('federation.leave.title', { provider: provider.label }),
  endsAt: provider.issuer,
  content: html`<h1>${view.t('federation.leave.title', { provider: provider.label })}</h1>
<p class="soft">${view.t('federation.leave.why', { provider: provider.label })}</p>
<form method="post" action="/auth/${provider.id}/login">
${goalFields(goal)}${hidden('confirm', confirm)}
<button type="submit" id="leave">${view.t('signin.with', { provider: provider.label })}</button>
</form>
<p><a href="${back}">${view.t('federation.leave.no')}</a></p>`,
});

type QuestionForm = {
  provider: Provider;
  question: Question;
  /** See answer.ts. */
  sealed: string;
  back: string;
  endsAt: string | undefined;
};

export const questionPage = (view: View, { provider, question, sealed, back, endsAt }: QuestionForm): Page => {
  const { does, email, upstreamName, replaces } = question;
  const strong = (text: string) => html`<strong><bdi>${text}</bdi></strong>`;
  const values = { provider: provider.label, email: strong(email), account: strong(upstreamName) };
  const plain = { provider: provider.label };
  return {
    title: view.plain(`federation.ask.${does}.title`, plain),
    endsAt,
    content: html`<h1>${view.t(`federation.ask.${does}.title`, plain)}</h1>
<p>${view.t(`federation.ask.${does}`, values)}</p>
${replaces !== undefined && html`<p>${view.t('federation.ask.replaces', { email: strong(replaces) })}</p>`}
<form method="post" action="/auth/${provider.id}/continue">
${hidden('answer', sealed)}
<button type="submit" id="agree">${view.t(`federation.ask.${does}.submit`, plain)}</button>
</form>
<p><a href="${back}">${view.t('federation.ask.no')}</a></p>`,
  };
};
