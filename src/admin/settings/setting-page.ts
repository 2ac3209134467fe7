import type { AuditRecord } from '../../audit/read-log.ts';
import { byName, locales, nameOfLanguage } from '../../platform/i18n/translate.ts';
import { alert, describedField, hidden, problemAt } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { ChangeableSetting } from '../../platform/settings/changeable-settings.ts';
import type { Names } from '../audit/names.ts';
import { eventList } from '../audit/page.ts';
import { adminTab, buttonForm, doneNotice, optionalReasonField, type Shown } from '../components.ts';
import { settingPath, settingsPath, shownValue } from './page.ts';
import type { Setting } from './read-settings.ts';
import { settingText } from './setting-text.ts';

type SettingView = {
  setting: ChangeableSetting;
  /** What is used, and what would be without any setting. */
  present: Setting;
  byDefault: Setting;
  /** What was set here; null: nothing. */
  stored: string | null;
  revision: number;
  isFixed: boolean;
  /** Undefined for who may not read the log. */
  changes: { events: readonly AuditRecord[]; names: Names } | undefined;
};

/** One setting that can be changed while the server runs. */
export function settingPage(view: View, of: SettingView, shown: Shown): Page {
  const { setting, present, byDefault, isFixed, changes } = of;
  const { name } = setting;
  return {
    title: name,
    tab: adminTab('admin_settings'),
    content: html`<h1><code>${name}</code></h1>
<p class="soft">${view.t(settingText(name))}</p>
${doneNotice(view, shown, 'settings', ['saved', 'unchanged'])}
<dl>
<dt>${view.t('admin.settings.value')}</dt><dd>${shownValue(view, present)} (${view.t(`admin.settings.source.${present.source}`)})</dd>
<dt>${view.t('admin.settings.source.default')}</dt><dd>${shownValue(view, byDefault)}</dd>
</dl>
${isFixed ? html`<p class="advice" id="setting-fixed">${view.t('admin.settings.fixed', { name })}</p>` : form(view, of, shown)}
${
  changes !== undefined &&
  changes.events.length > 0 &&
  html`<h2>${view.t('admin.settings.changes')}</h2>
${eventList(view, changes.names, changes.events)}
<p><a href="/admin/audit?target=${name}" id="setting-history">${view.t('admin.history')}</a></p>`
}
<p><a href="${settingsPath}#${name}">${view.t('admin.search.all_settings')}</a></p>`,
  };
}

function form(view: View, of: SettingView, { form: typed, problem, refusal }: Shown): Html {
  const { setting, stored, present, revision } = of;
  const problems = refusal?.problems ?? [];
  const value = typed?.value ?? stored ?? (present.value || '');
  return html`${problems.length > 0 ? alert(view.t('developer.form.problem')) : problem}
<form method="post" action="${settingPath(setting)}">
${hidden('revision', String(revision))}${control(view, setting, value, problems)}
${optionalReasonField(view, 'setting-reason', typed?.reason, 'admin.settings.reason.hint')}
<button type="submit" id="setting-save">${view.t('admin.settings.save')}</button>
<p class="hint">${view.t('admin.settings.everywhere')}</p>
</form>
${
  stored !== null &&
  buttonForm(view.t('admin.settings.reset'), {
    path: settingPath(setting),
    id: 'setting-reset',
    style: 'quiet',
    fields: hidden('revision', String(revision)),
  })
}`;
}

function control(
  view: View,
  { name, control }: ChangeableSetting,
  value: string,
  problems: Parameters<typeof describedField>[0],
): Html {
  const label = view.t('admin.settings.new_value');
  if (control.kind === 'switch')
    return html`<fieldset><legend>${label}</legend>
${(['on', 'off'] as const).map(
  (one) =>
    html`<label><input type="radio" name="value" value="${one}" required${one === value && html` checked`}> ${view.t(`admin.settings.${one}`)} <code>${one}</code></label>\n`,
)}${problemAt(view, problems, 'value')}</fieldset>`;
  const hint =
    control.kind === 'number'
      ? view.t('admin.settings.hint.number', { min: control.min, max: control.max })
      : textHint(view, name);
  const kind =
    control.kind === 'number'
      ? html` inputmode="numeric" required`
      : html` maxlength="2000" spellcheck="false" autocapitalize="none"`;
  return html`<label for="value">${label}</label>
<input id="value" name="value" autocomplete="off"${kind} value="${value}"${describedField(problems, 'value', true)}>
<p class="hint" id="value-hint">${hint}</p>${problemAt(view, problems, 'value')}`;
}

function textHint(view: View, name: string): Html {
  if (name === 'SIGNET_SECOND_FACTOR') return view.t('admin.settings.hint.second_factor');
  if (name === 'SIGNET_LANGUAGES') {
    const all = byName(locales).map((one) => html`<bdi>${nameOfLanguage(one)}</bdi> <code>${one}</code>`);
    return view.t('admin.settings.hint.languages', {
      all: html`${all.map((one, at) => html`${at > 0 && ', '}${one}`)}`,
    });
  }
  return view.t('admin.settings.hint.empty');
}
