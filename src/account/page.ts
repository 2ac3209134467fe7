import { html } from '../http/html.ts';
import type { Page } from '../http/page.ts';
import type { Session } from '../sessions/session.ts';

export const accountPage = (session: Session): Page => ({
  title: 'Your account',
  content: html`<h1>Your account</h1>
<dl>
<dt>Name</dt><dd><bdi>${session.name ?? 'not given'}</bdi></dd>
<dt>E-mail</dt><dd>${session.email}</dd>
${session.role === 'admin' && html`<dt>Role</dt><dd>Administrator</dd>`}
</dl>
<form method="post" action="/signout"><button type="submit" id="signout-submit" class="quiet">Sign out</button></form>`,
});
