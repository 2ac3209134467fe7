import { alert, notice } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { Passkey } from '../credentials/passkeys.store.ts';
import { maxPasskeys, passkeyId } from '../credentials/relying-party.ts';
import { accountTab } from '../sessions/account-tabs.ts';
import { passkeyForm, passkeyScripts } from './passkey-form.ts';

export const passkeysPath = '/account/security/passkeys';

/** What has just been done. */
export const passkeyNotices = ['added', 'renamed', 'removed'] as const;
export type PasskeyNotice = (typeof passkeyNotices)[number];

export type PasskeysPage = {
  passkeys: readonly Passkey[];
  /** What a new passkey is called unless its person says otherwise. */
  suggestedName: string;
  /** False where the service has no name of its own to make passkeys for. */
  canAdd: boolean;
  done?: PasskeyNotice;
  problem?: Renderable;
};

export const passkeysPage = (view: View, page: PasskeysPage): Page => ({
  title: view.plain('passkey.title'),
  tab: accountTab('security'),
  scripts: passkeyScripts,
  content: html`<p><a href="/account/security">${view.t('security.back')}</a></p>
<h1>${view.t('passkey.title')}</h1>
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
<p class="soft">${t('passkey.created', { when: view.day(passkey.created_at) })}
${passkey.last_used_at === null ? t('passkey.unused') : t('passkey.used', { when: view.ago(passkey.last_used_at) })}</p></div>
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
  return html`<p>${view.t('passkey.problem.too_many', { most: maxPasskeys })}</p>`;
}

/** Of the sentence and the form, the script leaves the one that holds in this browser. */
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
