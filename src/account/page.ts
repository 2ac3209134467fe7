import { html } from '../http/html.ts';
import type { Page } from '../http/page.ts';
import type { View } from '../http/view.ts';
import type { Session } from '../sessions/session.ts';

export const accountPage = ({ t, plain }: View, session: Session): Page => ({
  title: plain('account.title'),
  tab: 'profile',
  content: html`<h1>${t('account.title')}</h1>
<dl>
<dt>${t('field.name')}</dt><dd><bdi>${session.name ?? t('account.no_name')}</bdi></dd>
<dt>${t('field.email')}</dt><dd>${session.email}</dd>
${session.role === 'admin' && html`<dt>${t('account.role')}</dt><dd>${t('account.role.admin')}</dd>`}
</dl>`,
});
