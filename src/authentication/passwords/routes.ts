import type { FastifyInstance, FastifyReply } from 'fastify';
import type { FieldProblem } from '../../platform/errors.ts';
import { addOperations, inCode, operation } from '../../platform/http/operation.ts';
import { accountNameField, newPasswordField, notice, passwordScripts } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { Type } from '../../platform/schema.ts';
import { accountTab } from '../account-tab.ts';
import { isOfFullQueue } from '../credentials/hash-queue.ts';
import { minCharacters } from '../credentials/password-policy.ts';
import { passwordOf } from '../credentials/passwords.store.ts';
import { canRemoveSignInMethod } from '../credentials/sign-in-methods.ts';
import type { Deps } from '../deps.ts';
import { recentlySignedIn, type SignedIn, setSessionCookie } from '../sessions/session.ts';
import type { Session } from '../sessions/store.ts';
import {
  changePassword,
  mayBeTooShort,
  type PasswordChange,
  passwordContext,
  removePassword,
} from './change-password.ts';

const path = '/account/security/password';
const consequence =
  'Ends your other sessions, revokes all grants and invalidates open reset links. This session continues with a new cookie.';

const onPassword = {
  tag: 'Account',
  path: '/v1/me/password',
  access: recentlySignedIn,
  setHeaders(reply: FastifyReply, deps: Deps, { result, input }: { result: unknown; input: SignedIn }) {
    setSessionCookie(deps, reply, input.session, (result as PasswordChange).token);
  },
} as const;

const change = operation({
  ...onPassword,
  id: 'changePassword',
  method: 'POST',
  summary: 'Set or change your password',
  description: consequence,
  body: Type.Object(
    {
      password: Type.String({
        description: 'At least 15 characters, or 8 with TOTP; at most 1024 bytes; no common password.',
        ...inCode({ minLength: 8, maxLength: 1024 }),
      }),
    },
    { additionalProperties: false },
  ),
  example: { password: 'four unrelated ordinary words' },
  answer: { description: 'The password was changed.' },
  refusals: ['temporarily_unavailable', 'rate_limited'],
  run: (deps: Deps, { body: { password }, ...user }) => changePassword(deps, user, password),
});

const remove = operation({
  ...onPassword,
  id: 'removePassword',
  method: 'DELETE',
  summary: 'Remove your password',
  description: `Only possible with another sign-in method. ${consequence}`,
  answer: { description: 'The password was removed.' },
  refusals: ['invalid_state'],
  run: (deps: Deps, owner) => removePassword(deps, owner),
});

/** The signed-in user's password. */
export async function passwordRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [change, remove]);
  // Password managers lead here (W3C, A Well-Known URL for Changing Passwords).
  app.get('/.well-known/change-password', { config: { page: true } }, async (_request, reply) =>
    reply.redirect(path, 302),
  );
  const pages = pagesFor(app, deps, recentlySignedIn);
  pages.show(path, ({ view, session, query: { done, invitations } }) =>
    drawPassword(deps, view, session, {
      done: notices.find((one) => one === done),
      endsInvitations: invitations === 'ended',
    }),
  );
  pages.run(change, {
    path,
    page: path,
    input: ({ password = '' }) => ({ body: { password } }),
    done: doneBy('changed'),
    redraw: ({ view, session }, { refusal: { problems }, problem }) =>
      drawPassword(deps, view, session, { problem, problems }),
    explains: (refusal) => refusal.problems.length > 0 || isOfFullQueue(refusal),
  });
  pages.run(remove, { path: `${path}/remove`, page: path, done: doneBy('removed') });
}

const doneBy =
  (done: 'changed' | 'removed') =>
  (result: unknown): string =>
    `${path}?done=${done}${(result as PasswordChange).endsInvitations ? '&invitations=ended' : ''}`;

/** `not_me`: the user has said of something that it was not them, and the password is gone. */
const notices = ['changed', 'removed', 'not_me'] as const;

type Message = {
  done?: (typeof notices)[number] | undefined;
  endsInvitations?: boolean;
  problem?: Html | false;
  problems?: readonly FieldProblem[];
};

async function drawPassword(
  deps: Deps,
  view: View,
  session: Session,
  { done, endsInvitations, problem, problems = [] }: Message,
): Promise<Page> {
  const { secondFactor = false } = await passwordContext(deps, session);
  const hasPassword = (await passwordOf(deps.db, session.user_id)) !== undefined;
  const min = minCharacters({ secondFactor });
  const isShort = !secondFactor && (await mayBeTooShort(deps, session.user_id));
  const canRemove = await canRemoveSignInMethod(deps, session.user_id);
  return {
    title: view.plain('password.title'),
    tab: accountTab('security'),
    scripts: passwordScripts,
    content: html`<h1>${view.t('password.title')}</h1>
${done && notice(html`${view.t(`password.done.${done}`)}${endsInvitations && html` ${view.t('password.done.invitations')}`}`)}
${problem}
<p class="soft">${view.t(hasPassword ? 'password.intro' : 'password.intro_first')}</p>
${isShort && html`<div class="advice"><p>${view.t('password.if_short', { min, short: minCharacters({ secondFactor: true }) })}</p></div>`}
<form method="post" action="/account/security/password">
${accountNameField(session.email)}
${newPasswordField(view, { min, problems })}
<button type="submit" id="password-submit">${view.t(hasPassword ? 'password.change' : 'password.set')}</button>
</form>
${hasPassword && html`<h2>${view.t('password.remove_title')}</h2>\n${removal(view, canRemove)}`}`,
  };
}

const removal = (view: View, canRemove: boolean) =>
  canRemove
    ? html`<p class="soft">${view.t('password.remove_intro')}</p>
<form method="post" action="/account/security/password/remove">
<button type="submit" id="password-remove" class="danger">${view.t('password.remove')}</button>
</form>`
    : html`<p class="soft">${view.t('password.last_sign_in_method')}</p>`;
