import { accountTab } from '../../authentication/account-tab.ts';
import type { SecurityOverview } from '../../authentication/credentials/sign-in-methods.ts';
import { recoveryNotice } from '../../authentication/factor-recovery/page.ts';
import type { FactorRecovery } from '../../authentication/statements.ts';
import { listInWords } from '../../platform/i18n/formats.ts';
import { type Html, html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';

const fewCodes = 3;

/** From when an administrator without a second factor has no access to administration. */
type AdministrationDue = { due: number; isDue: boolean } | undefined;

type Notices = {
  administration: AdministrationDue;
  /** That the second factors be removed, under way. */
  recovery: FactorRecovery | undefined;
  /** Whether each sign-in takes a second factor, whatever the account has. */
  isFactorRequired: boolean;
};

/** What a user signs in with. */
export function securityPage(view: View, overview: SecurityOverview, notices: Notices): Page {
  const { administration, recovery, isFactorRequired } = notices;
  // A passkey does not protect the password: only TOTP is required after it, unless the operator requires a second factor.
  const isPasswordEnough =
    overview.password_changed_at !== null && overview.totp_confirmed_at === null && !isFactorRequired;
  return {
    title: view.plain('security.title'),
    tab: accountTab('security'),
    content: html`<h1>${view.t('security.title')}</h1>
<p class="soft">${view.t('security.intro')}</p>
${recovery && recoveryNotice(view, recovery)}${administration && html`<div class="alert"><p>${administration.isDue ? view.t('security.admin_due') : view.t('security.admin_due_from', { day: view.day(administration.due) })}</p></div>`}
${isPasswordEnough && html`<div class="advice"><p>${view.t(overview.passkeys > 0 ? 'security.advice.passkey' : 'security.advice')}</p></div>`}
${onlyWay(view, overview)}
<ul class="items">
${passwordRow(view, overview)}
${passkeysRow(view, overview)}
${totpRow(view, overview)}
${overview.totp_confirmed_at !== null && backupCodesRow(view, overview)}
${overview.providers && providersRow(view, overview.providers)}
</ul>`,
  };
}

/** What a user depends on alone: its loss would be that of the account, or of every change of it, without an administrator's help. */
function onlyWay(view: View, { passkeys, totp_confirmed_at, backupCodes }: SecurityOverview): Html | false {
  const isApp = totp_confirmed_at !== null && passkeys === 0 && backupCodes.remaining === 0;
  const isPasskey = totp_confirmed_at === null && passkeys === 1;
  if (!isApp && !isPasskey) return false;
  return html`<div class="advice" id="only-way"><p>${view.t(isApp ? 'security.only_app' : 'security.only_passkey')}</p></div>`;
}

type Row = { name: string; title: Html; state: Renderable; badge?: Renderable; action: Html };

const row = ({ name, title, state, badge, action }: Row): Html => html`<li>
<div>
<h2 id="${name}">${title}${badge && html` ${badge}`}</h2>
<p>${state}</p>
</div>
<a class="button quiet" href="/account/security/${name}" aria-describedby="${name}">${action}</a>
</li>`;

const passwordRow = ({ t, day }: View, { password_changed_at }: SecurityOverview): Html =>
  row({
    name: 'password',
    title: t('security.password'),
    state:
      password_changed_at === null
        ? t('security.password.none')
        : t('security.password.changed', { day: day(password_changed_at) }),
    action: t(password_changed_at === null ? 'security.set' : 'security.change'),
  });

const passkeysRow = ({ t }: View, { passkeys }: SecurityOverview): Html =>
  row({
    name: 'passkeys',
    title: t('security.passkeys'),
    state:
      passkeys === 0
        ? t('security.passkeys.none')
        : t(passkeys === 1 ? 'security.passkeys.one' : 'security.passkeys.some', { count: passkeys }),
    action: t(passkeys === 0 ? 'security.add' : 'security.manage'),
  });

const totpRow = ({ t, day }: View, { totp_confirmed_at }: SecurityOverview): Html =>
  row({
    name: 'totp',
    title: t('security.totp'),
    badge:
      totp_confirmed_at === null
        ? html`<span class="badge off">${t('security.off')}</span>`
        : html`<span class="badge">${t('security.on')}</span>`,
    state:
      totp_confirmed_at === null ? t('security.totp.none') : t('security.totp.since', { day: day(totp_confirmed_at) }),
    action: t(totp_confirmed_at === null ? 'security.set_up' : 'security.manage'),
  });

const backupCodesRow = ({ t }: View, { backupCodes: { total, remaining } }: SecurityOverview): Html =>
  row({
    name: 'backup-codes',
    title: t('security.backup_codes'),
    badge: remaining <= fewCodes && html`<span class="badge warn">${t('security.backup_codes.few')}</span>`,
    state: t('security.backup_codes.left', { remaining, total }),
    action: t('security.renew'),
  });

const providersRow = ({ t, locale }: View, providers: readonly string[]): Html =>
  row({
    name: 'providers',
    title: t('security.providers'),
    state:
      providers.length === 0
        ? t('security.providers.none')
        : t('security.providers.linked', { providers: listInWords(locale, providers) }),
    action: t('security.manage'),
  });
