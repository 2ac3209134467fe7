import { betweenSentences } from '../../platform/i18n/formats.ts';
import { alert, notice } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { accountTab } from '../account-tab.ts';
import type { Passkey } from '../credentials/passkeys.store.ts';
import { maxPasskeys, passkeyId } from '../credentials/webauthn.ts';

export const passkeysPath = '/account/security/passkeys';

export const passkeyNotices = ['added', 'renamed', 'removed', 'unchanged'] as const;

type PasskeysPage = {
  passkeys: readonly Passkey[];
  /** For a new passkey. */
  suggestedName: string;
  /** False if the service is at an IP address, for which there are no passkeys. */
  canAdd: boolean;
  done?: (typeof passkeyNotices)[number];
  problem?: Renderable;
};

export const passkeysPage = (view: View, page: PasskeysPage): Page => ({
  title: view.plain('passkey.title'),
  tab: accountTab('security'),
  scripts: passkeyScripts,
  content: html`<h1>${view.t('passkey.title')}</h1>
<p class="soft">${view.t('passkey.intro')}</p>
${notice(page.done && view.t(`passkey.done.${page.done}`))}
${alert(page.problem)}
${
  page.passkeys.length === 0
    ? html`<p>${view.t('passkey.none')}</p>`
    : html`<ul class="items">${page.passkeys.map((passkey) => passkeyItem(view, passkey))}</ul>`
}
<h2>${view.t('passkey.add.title')}</h2>
${addition(view, page)}`,
});

function passkeyItem(view: View, passkey: Passkey): Html {
  const { t } = view;
  const id = passkeyId(passkey);
  return html`
<li>
<div><strong><bdi>${passkey.name}</bdi></strong> <span class="badge">${t(passkey.backed_up_at === null ? 'passkey.one_device' : 'passkey.synced')}</span>
<p class="soft">${t('passkey.created', { when: view.day(passkey.created_at) })}${betweenSentences(view.locale)}${passkey.last_used_at === null ? t('passkey.unused') : t('passkey.used', { when: view.ago(passkey.last_used_at) })}</p></div>
<details><summary aria-label="${t('passkey.rename.which', { passkey: passkey.name })}">${t('passkey.rename.summary')}</summary>
<form method="post" action="${passkeysPath}/${id}/name">
<label for="name-${id}">${t('passkey.name')}</label>
<input id="name-${id}" name="name" value="${passkey.name}" required maxlength="100" autocomplete="off">
<button type="submit" class="quiet">${t('passkey.rename')}</button>
</form></details>
<details><summary aria-label="${t('passkey.remove.which', { passkey: passkey.name })}">${t('passkey.remove.summary')}</summary>
<p>${t('passkey.remove.what')}</p>
<form method="post" action="${passkeysPath}/${id}/remove">
<button type="submit" class="danger">${t('passkey.remove')}</button>
</form></details>
</li>`;
}

function addition(view: View, page: PasskeysPage): Html {
  if (!page.canAdd) return html`<p>${view.t('passkey.add.address')}</p>`;
  if (page.passkeys.length < maxPasskeys) return addForm(view, page);
  return html`<p>${view.t('passkey.problem.too_many', { max: maxPasskeys })}</p>`;
}

/** The script hides the sentence or the form, depending on what the browser supports. */
const addForm = (
  view: View,
  { suggestedName }: PasskeysPage,
): Html => html`<p class="soft">${view.t('passkey.add.binds')}</p>
<p data-passkey-without data-unsupported="${view.t('passkey.add.unsupported')}">${view.t('passkey.add.script')}</p>
${passkeyForm(view, {
  action: passkeysPath,
  ceremony: 'create',
  button: view.t('passkey.add'),
  fields: html`<label for="name">${view.t('passkey.name')}</label>
<input id="name" name="name" value="${suggestedName}" required maxlength="100" autocomplete="off" aria-describedby="name-hint">
<p class="hint" id="name-hint">${view.t('passkey.name.hint')}</p>
`,
})}`;

/** For the `scripts` of every page with a passkey form. */
export const passkeyScripts = ['passkeys'] as const;

type PasskeyForm = {
  /** Where the credential is posted; the options come from `/options` below it. */
  action: string;
  ceremony: 'create' | 'get';
  /** The page has a field in which browsers suggest passkeys. */
  autofill?: true;
  button: Html;
  quiet?: true;
  /** Posted with the credential. */
  fields?: Renderable;
};

/** Hidden until the script finds that the browser supports it. The script's messages are in attributes. */
export const passkeyForm = (view: View, form: PasskeyForm): Html => html`<form method="post" action="${form.action}"
 data-passkey="${form.ceremony}"${form.autofill && html` data-autofill`} hidden
 data-cancelled="${view.t('passkey.script.cancelled')}" data-known="${view.t('passkey.script.known')}"
 data-failed="${view.t('passkey.script.failed')}">
${form.fields}<input type="hidden" name="credential">
<p class="alert" role="alert" hidden></p>
<button type="submit"${form.quiet && html` class="quiet"`}>${form.button}</button>
</form>`;

/** For the `scripts` of a page with a {@link passkeyOffer}. */
export const passkeyOfferScripts = ['passkey-offer'];

export const passkeyOfferPath = '/account/passkey-offer';

/** Hidden until the script finds that this device can have a passkey. */
export const passkeyOffer = (view: View): Html => html`<section class="advice" id="passkey-offer" hidden>
<h2>${view.t('passkey.offer.title')}</h2>
<p>${view.t('passkey.offer')}</p>
<div class="actions">
<a class="button" href="${passkeysPath}">${view.t('passkey.add')}</a>
<form method="post" action="${passkeyOfferPath}"><button type="submit" class="quiet">${view.t('passkey.offer.no')}</button></form>
</div>
</section>`;
