import type { User } from '../../accounts/statements.ts';
import type { Attribute } from '../../attributes/attribute.ts';
import { attributeFields, drawnAttributes, problemsInFields } from '../../attributes/fields.ts';
import type { PendingInvitation, pendingInvitations } from '../../authentication/account-links/invitation.ts';
import { byName, nameOfLanguage } from '../../platform/i18n/translate.ts';
import { copyScripts, fieldAlert, hidden } from '../../platform/pages/form.ts';
import { type Html, html, namedEmail, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { badge, emptyList, exactTime, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, doneNotice, optionalReasonField, reasonField, type Shown, secretOnce } from '../components.ts';

const tab = adminTab('admin_users');
const invitePath = '/admin/users/invite';

const emailField = (
  view: View,
  value: string,
  hint?: Html,
): Html => html`<label for="email">${view.t('field.email')}</label>
<input id="email" name="email" type="text" inputmode="email" autocomplete="off" autocapitalize="none" spellcheck="false"
 required maxlength="254" value="${value}"${hint !== undefined && html` aria-describedby="email-hint"`}>
${hint !== undefined && html`<p class="hint" id="email-hint">${hint}</p>\n`}`;

const usernameField = (
  view: View,
  value: string,
): Html => html`<label for="preferred_username">${view.t('claim.preferred_username')}</label>
<input id="preferred_username" name="preferred_username" maxlength="30" autocomplete="off" autocapitalize="none" spellcheck="false"
 value="${value}" aria-describedby="preferred_username-hint">
<p class="hint" id="preferred_username-hint">${view.t('admin.users.username.hint')}</p>
`;

type Invitations = Awaited<ReturnType<typeof pendingInvitations>>;

export const invitePage = (view: View, pending: Invitations, { problem, form, query }: Shown): Page => ({
  title: view.plain('admin.users.invite'),
  tab,
  content: html`<h1>${view.t('admin.users.invite')}</h1>
<p class="soft">${view.t('admin.users.invite.intro')}</p>
${problem}${doneNotice(view, { query }, 'users', ['invitation_revoked'])}
<form method="post" action="${invitePath}">
${emailField(view, form?.email ?? '')}<label for="name">${view.t('developer.secrets.name')}</label>
<input id="name" name="name" maxlength="100" autocomplete="off" value="${form?.name ?? ''}" aria-describedby="name-hint">
<p class="hint" id="name-hint">${view.t('admin.users.invite.name.hint')}</p>
${usernameField(view, form?.preferred_username ?? '')}${view.may('administrators:write') && roleField(view, form?.role === 'admin')}
<label for="locale">${view.t('admin.users.invite.language')}</label>
<select id="locale" name="locale">${byName(view.languagesOfMail).map((locale) => html`<option value="${locale}"${locale === (form?.locale ?? view.locale) && html` selected`}>${nameOfLanguage(locale)}</option>`)}</select>
${optionalReasonField(view, 'invite-reason', form?.reason)}
<button type="submit" id="user-invite">${view.t('admin.users.invite.submit')}</button>
</form>
<h2>${view.t('admin.users.invitations')}</h2>
${pendingList(view, pending)}`,
});

const roleField = (
  view: View,
  isChosen: boolean,
): Html => html`<label><input type="checkbox" name="role" value="admin" aria-describedby="role-hint"${isChosen && html` checked`}> ${view.t('admin.users.invite.administrator')}</label>
<p class="hint" id="role-hint">${view.t('admin.users.invite.administrator.hint')}</p>`;

const pendingList = (view: View, { invitations, next }: Invitations): Html =>
  html`${
    invitations.length === 0
      ? emptyList(view.t(next === undefined ? 'admin.users.invitations.none' : 'admin.users.invitations.none_here'))
      : html`<ul class="items">${invitations.map((one, place) => pendingItem(view, one, place))}</ul>`
  }${pager(view, { id: 'invitations-more', next, label: view.t('admin.users.invitations.more'), pathTo: (at) => pathWith(invitePath, at) })}`;

/** One form with a reason for both: which button was pressed decides where it goes. */
const pendingItem = (
  view: View,
  { email, preferred_username, name, role, invited_at, expires_at }: PendingInvitation,
  place: number,
): Html => html`<li><div>
<h3 id="invitation-${place}">${untrustedEmail(email)}${role === 'admin' && html` ${badge(view.t('admin.users.administrator'))}`}</h3>
${name !== null && html`<p>${untrusted(name)}</p>\n`}${
  preferred_username !== null && html`<p>${view.t('claim.preferred_username')}: ${preferred_username}</p>\n`
}<p>${view.t('admin.users.invitations.when', { invited: view.ago(invited_at), expires: view.until(expires_at) })}</p></div>
<details><summary aria-describedby="invitation-${place}">${view.t('admin.users.invitations.change')}</summary>
<form method="post" action="${invitePath}">
${hidden('email', email)}${name !== null && hidden('name', name)}${role === 'admin' && hidden('role', role)}${
  preferred_username !== null && hidden('preferred_username', preferred_username)
}${hidden('locale', view.locale)}${hidden('replace', 'on')}
${optionalReasonField(view, `invitation-reason-${place}`)}
<p class="actions"><button type="submit" class="quiet">${view.t('admin.users.invitations.resend')}</button>
<button type="submit" class="danger" formaction="/admin/invitations/revoke">${view.t('admin.users.invitations.revoke')}</button></p>
</form></details></li>
`;

type Link = { url: string; expires_at: number };

/** A link for another person, which is shown once. */
const linkPage = (view: View, title: string, { url, expires_at }: Link, intro: Html, next: Html): Page => ({
  title,
  tab,
  scripts: copyScripts,
  content: html`<h1>${title}</h1>
<p>${intro}</p>
${secretOnce(view, [{ label: view.t('admin.users.link'), value: url }])}
<p>${view.t('admin.users.link.until')}: ${exactTime(expires_at)}</p>
<p>${next}</p>`,
});

export const invitationPage = (view: View, email: string, { mailed, ...link }: Link & { mailed: boolean }): Page =>
  linkPage(
    view,
    view.plain('admin.users.invite.done'),
    link,
    view.t(mailed ? 'admin.users.invite.mailed' : 'admin.users.invite.not_mailed', {
      email: namedEmail(email),
    }),
    html`<a class="button" href="/admin/users">${view.t('admin.go_on')}</a>`,
  );

export const resetLinkPage = (view: View, { user_id, name, email }: User, link: Link): Page =>
  linkPage(
    view,
    view.plain('admin.users.reset_link.done', { name: visibleText(name ?? email) }),
    link,
    view.t('admin.users.reset_link.intro'),
    html`<a class="button" href="/admin/users/${user_id}">${view.t('admin.go_on')}</a>`,
  );

type EditedUser = {
  /** False where only names and attributes can be changed. */
  mayChangeAddress: boolean;
  attributes: readonly Attribute[];
  shown: Shown;
};

export const editUserPage = (view: View, user: User, { mayChangeAddress, attributes, shown }: EditedUser): Page => {
  const { form, refusal } = shown;
  const problems = problemsInFields(view, attributes, refusal?.problems ?? []);
  const fields = { stored: user.attributes, typed: form, problems };
  return {
    title: view.plain('admin.users.edit'),
    tab,
    above: [{ path: `/admin/users/${user.user_id}`, label: untrusted(user.name ?? user.email) }],
    content: html`<h1>${view.t('admin.users.edit')}</h1>
${problems.length > 0 ? fieldAlert(view, problems) : shown.problem}
<form method="post" action="/admin/users/${user.user_id}/edit">
${hidden('shown_name', form?.shown_name ?? user.name ?? '')}${hidden('shown_email', form?.shown_email ?? user.email)}${hidden('shown_username', form?.shown_username ?? user.preferred_username ?? '')}
<label for="name">${view.t('field.name')}</label>
<input id="name" name="name" required maxlength="100" autocomplete="off" value="${form?.name ?? user.name ?? ''}">
${usernameField(view, form?.preferred_username ?? user.preferred_username ?? '')}${
  mayChangeAddress
    ? html`${emailField(view, form?.email ?? user.email, view.t('admin.users.edit.email.hint'))}<label><input type="checkbox" name="email_verified" value="on"${form?.email_verified === 'on' && html` checked`}> ${view.t('admin.users.edit.verified')}</label>
`
    : html`<p class="hint">${view.t('users.access_of_administrator')}</p>\n`
}${attributeFields(view, attributes, fields)}${drawnAttributes(attributes, fields)}${reasonField(view, 'edit-reason')}
<button type="submit" id="user-edit">${view.t('admin.users.edit.submit')}</button>
</form>`,
  };
};
