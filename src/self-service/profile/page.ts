import { type Profile, type StandardClaim, standardClaimNames, type User } from '../../accounts/statements.ts';
import type { Attribute } from '../../attributes/attribute.ts';
import { attributeFields, attributeList, editableByPerson, problemsInFields } from '../../attributes/fields.ts';
import { accountTab } from '../../authentication/account-tab.ts';
import { passkeyOffer, passkeyOfferScripts } from '../../authentication/passkeys/page.ts';
import type { Session } from '../../authentication/statements.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { byName, nameOfLanguage } from '../../platform/i18n/translate.ts';
import { fieldAlert, hidden, notice } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import { personAvatar, pictureOf } from '../../platform/pages/initials.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { maxPictureKb, maxPictureSide } from '../../platform/picture-files.ts';
import { birthdateFields, birthdateIn } from './birthdate-fields.ts';
import { timeZoneField, timeZoneScripts, zoneIn } from './time-zone-field.ts';

export const profileNotices = ['yes', 'unchanged', 'picture', 'picture_removed'] as const;
type ProfileNotice = (typeof profileNotices)[number];

type ProfileForm = {
  session: Session;
  user: User;
  attributes: readonly Attribute[];
  /** What was entered, if it was refused. */
  typed?: Parameters;
  problems?: readonly FieldProblem[];
  done?: ProfileNotice;
  offersPasskey?: boolean;
};

type TextClaim = Exclude<StandardClaim, 'birthdate' | 'zoneinfo'>;

/** What is typed, and how. The order is that of the page. */
const textFields: readonly { name: TextClaim; hasHint?: true; attributes: Html }[] = [
  {
    name: 'preferred_username',
    hasHint: true,
    attributes: html` maxlength="30" autocapitalize="none" spellcheck="false" autocomplete="off"`,
  },
  { name: 'given_name', attributes: html` maxlength="200" autocomplete="given-name"` },
  { name: 'middle_name', attributes: html` maxlength="200" autocomplete="additional-name"` },
  { name: 'family_name', attributes: html` maxlength="200" autocomplete="family-name"` },
  { name: 'nickname', attributes: html` maxlength="200" autocomplete="nickname"` },
  { name: 'profile', attributes: html` type="url" maxlength="2048" placeholder="https://" autocapitalize="none"` },
  {
    name: 'website',
    attributes: html` type="url" maxlength="2048" placeholder="https://" autocapitalize="none" autocomplete="url"`,
  },
  { name: 'gender', attributes: html` maxlength="200" autocomplete="sex"` },
];

export const profilePage = (view: View, form: ProfileForm): Page => {
  const { session, user, attributes, typed, done, offersPasskey = false } = form;
  const problems = problemsInFields(view, attributes, form.problems ?? []);
  const isWrong = (field: string) => problems.some(({ path }) => path === field);
  const value = (field: keyof Profile) => (typed === undefined ? user[field] : typed[field]?.trim());
  const described = (name: string, hasHint: boolean) => {
    const describedBy = [hasHint && `${name}-hint`, isWrong(name) && 'problem'].filter(Boolean).join(' ');
    return html`${isWrong(name) && html` aria-invalid="true"`}${describedBy !== '' && html` aria-describedby="${describedBy}"`}`;
  };
  const input = (name: 'name' | 'picture' | TextClaim, attributes: Html, hasHint = false) =>
    html`<input id="${name}" name="${name}"${attributes} value="${value(name)}"${described(name, hasHint)}>`;
  const hasUploaded = pictureOf(view.baseUrl, user) !== undefined;
  const folded = [...standardClaimNames, ...(hasUploaded ? [] : (['picture'] as const))];
  const isFilledIn =
    folded.some((name) => value(name) || isWrong(name)) || (typed !== undefined && birthdateIn(typed) !== null);
  return {
    title: view.plain('account.title'),
    tab: accountTab('profile'),
    scripts: [...(offersPasskey ? passkeyOfferScripts : []), 'picture', ...timeZoneScripts],
    content: html`<div class="person">
${personAvatar(view, { ...user, email: session.email })}
<div>
<h1><bdi>${session.name ?? view.t('account.title')}</bdi></h1>
<p class="soft">${session.email}</p>
</div>
</div>
${fieldAlert(view, problems.map(inFields))}
${notice(done && view.t(`account.done.${done}`))}
${offersPasskey && passkeyOffer(view)}
<form method="post" action="/account">
<label for="name">${view.t('field.name')}</label>
${input('name', html` autocomplete="name" required maxlength="200"`)}
<label for="locale">${view.t('account.language')}</label>
<select id="locale" name="locale">
<option value="">${view.t('account.language.automatic')}</option>
${byName(view.languages).map((locale) => languageOption(locale, value('locale') ?? null))}
</select>
<details${isFilledIn && html` open`}><summary>${view.t('account.claims')}</summary>
<p class="hint">${view.t('account.claims.hint')}</p>
${textFields.map(
  ({ name, hasHint, attributes }) => html`<label for="${name}">${view.t(`claim.${name}`)}</label>
${input(name, attributes, hasHint)}
${hasHint && html`<p class="hint" id="${name}-hint">${view.t('account.claims.preferred_username.hint')}</p>\n`}`,
)}${birthdateFields(view, user, typed, isWrong('birthdate'))}<label for="zoneinfo">${view.t('claim.zoneinfo')}</label>
${timeZoneField(view, typed === undefined ? user.zoneinfo : zoneIn(typed), described('zoneinfo', true))}
${
  !hasUploaded &&
  html`<label for="picture">${view.t('account.picture')}</label>
${input('picture', html` type="url" inputmode="url" autocomplete="photo" autocapitalize="none" spellcheck="false" maxlength="2048" placeholder="https://"`, true)}
<p class="hint" id="picture-hint">${view.t('account.picture.hint')}</p>
${hidden('picture_field', 'on')}`
}</details>
${attributeFields(view, editableByPerson(attributes), { stored: user.attributes, typed, problems })}
<button type="submit" id="profile-submit">${view.t('account.save')}</button>
</form>
<h2>${view.t('account.about')}</h2>
<dl>
<dt>${view.t('field.email')}</dt>
<dd>${session.email} ${verifiedBadge(view, session)}<br><a href="/account/email">${view.t(session.email_verified_at === null ? 'account.verify_email' : 'account.change_email')}</a></dd>
<dt>${view.t('account.role')}</dt><dd>${view.t(`account.role.${session.role}`)}</dd>
<dt>${view.t('account.since')}</dt><dd>${view.day(session.user_created_at)}</dd>
${attributeList(view, attributes.filter(isFixed), user.attributes)}</dl>
<h2>${view.t('account.upload')}</h2>
<form method="post" action="/account/picture" enctype="multipart/form-data">
<label for="content">${view.t('account.upload.file')}</label>
<input id="content" name="content" type="file" accept="image/png,image/jpeg,image/webp" required data-picture aria-describedby="content-hint${isWrong('content') && ' problem'}"${isWrong('content') && html` aria-invalid="true"`}>
<p class="hint" id="content-hint">${view.t('account.upload.hint', { kb: maxPictureKb, side: maxPictureSide })}</p>
<button type="submit" class="quiet" id="picture-submit">${view.t('account.upload.submit')}</button>
</form>
${
  hasUploaded &&
  html`<form method="post" action="/account/picture/remove"><button type="submit" class="quiet" id="picture-remove">${view.t('account.upload.remove')}</button></form>
`
}<h2>${view.t('account.elsewhere')}</h2>
<ul>
${session.role !== 'user' && html`<li><a href="/admin">${view.t('account.elsewhere.admin')}</a></li>`}
<li><a href="/developer">${view.t('account.elsewhere.developer')}</a></li>
</ul>
<h2>${view.t('account.leave')}</h2>
<p class="soft">${view.t('account.leave.what')}</p>
<p><a href="/account/delete">${view.t('account.leave.link')}</a></p>`,
  };
};

/** What its person sees and does not change. */
const isFixed = ({ editable_by, is_shown }: Attribute): boolean => editable_by === 'administrator' && is_shown;

/** Programs write a date of birth as one text, which their message is about. */
const inFields = (problem: FieldProblem): FieldProblem =>
  problem.path === 'birthdate' ? { ...problem, userMessage: { key: 'account.birthdate.problem' } } : problem;

const languageOption = (locale: string, chosen: string | null): Html =>
  html`<option value="${locale}" lang="${locale}"${locale === chosen && html` selected`}>${nameOfLanguage(locale)}</option>`;

const verifiedBadge = (view: View, { email_verified_at }: Session): Html =>
  email_verified_at === null
    ? html`<span class="badge warn">${view.t('account.unverified')}</span>`
    : html`<span class="badge">${view.t('account.verified')}</span>`;
