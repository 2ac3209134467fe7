import type { readBrandHistory } from '../../brand/change-brand.ts';
import { listInWords } from '../../platform/i18n/formats.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import { badge, itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { Names } from '../audit/names.ts';
import { actorName } from '../audit/sentence.ts';
import { adminTab, type Shown, step } from '../components.ts';
import { brandPath } from './page.ts';

type Version = Awaited<ReturnType<typeof readBrandHistory>>[number];

/** A member of the record as the form calls it. */
export function fieldInWords(view: View, field: string): string {
  const [member = '', part] = field.split('.');
  const key =
    part === undefined
      ? `admin.brand.field.${member === 'name_shown' ? 'header' : member}`
      : `admin.brand.${member === 'words' ? 'place' : 'picture'}.${part}`;
  return view.plain(key as MessageKey);
}

export const versionsPage = (
  view: View,
  { versions, names }: { versions: readonly Version[]; names: Names },
  shown: Shown,
): Page => ({
  title: view.plain('admin.brand.versions'),
  tab: adminTab('admin_brand'),
  content: html`<h1>${view.t('admin.brand.versions')}</h1>
<p class="soft">${view.t('admin.brand.versions.intro')}</p>
${shown.problem}
${itemsOr(
  versions.map((one, at) => versionItem(view, one, { names, isNewest: at === 0 })),
  view.t('admin.brand.versions.none'),
)}
${
  versions.length > 0 &&
  view.may('brand:write') &&
  html`<h2>${view.t('admin.brand.versions.settings')}</h2>
${restoration(view, 0)}`
}
${view.may('audit:read') && html`<p><a href="/admin/audit?action=brand.changed" id="brand-history">${view.t('admin.history')}</a></p>`}`,
});

function versionItem(view: View, one: Version, { names, isNewest }: { names: Names; isNewest: boolean }): Html {
  const { version, fields, restored_from, actor, created_at } = one;
  return html`<li><div>
<h2>${view.t('admin.brand.version', { version })}${isNewest && html` ${badge(view.t('admin.brand.version.newest'))}`}</h2>
<p>${view.t('admin.brand.version.by', { actor: actorName(view, names, actor), when: view.ago(created_at) })}</p>
<p>${
    restored_from !== null
      ? view.t('admin.brand.version.same_as', { version: restored_from })
      : fields !== undefined &&
        listInWords(
          view.locale,
          fields.map((field) => fieldInWords(view, field)),
        )
  }</p>
</div>${!isNewest && view.may('brand:write') && html`<div>${restoration(view, version)}</div>`}</li>
`;
}

const restoration = (view: View, version: number): Html =>
  step(view, version === 0 ? 'admin.brand.restore_settings' : 'admin.brand.restore', {
    path: `${brandPath}/restore`,
    id: `restore-${version}`,
    style: 'quiet',
    fields: hidden('version', String(version)),
  });
