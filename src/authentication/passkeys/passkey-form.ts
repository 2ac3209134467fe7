import { type Html, html, type Renderable } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';

/** For the `scripts` of every page with such a form. */
export const passkeyScripts = ['webauthn', 'passkeys'] as const;

type PasskeyForm = {
  /** Where the credential is posted; the options come from `/options` below it. */
  action: string;
  ceremony: 'create' | 'get';
  /** The page has a field that browsers offer passkeys in. */
  autofill?: true;
  button: Html;
  quiet?: true;
  /** What is posted with it. */
  fields?: Renderable;
};

/** Hidden until the script finds a browser that can do it. What the script may have to say stands here, in attributes. */
export const passkeyForm = (view: View, form: PasskeyForm): Html => html`<form method="post" action="${form.action}"
 data-passkey="${form.ceremony}"${form.autofill && html` data-autofill`} hidden
 data-cancelled="${view.t('passkey.script.cancelled')}" data-known="${view.t('passkey.script.known')}"
 data-failed="${view.t('passkey.script.failed')}">
${form.fields}<input type="hidden" name="credential">
<p class="alert" role="alert" hidden></p>
<button type="submit"${form.quiet && html` class="quiet"`}>${form.button}</button>
</form>`;
