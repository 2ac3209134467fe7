import type { ProviderCheck } from '../../authentication/federation/check-provider.ts';
import { failureWords } from '../../authentication/federation/failure-words.ts';
import { alert, notice } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';

/** What a check has found, for the page that it was asked on. */
export function checkOutcome(view: View, { label, found, problem, redirect_uri }: ProviderCheck): Html | false {
  const provider = untrusted(label);
  if (found === null) {
    return alert(
      html`${view.t('admin.settings.provider.problem', { provider, problem: html`${view.t(failureWords(problem ?? ''), { provider })} <code>${problem}</code>` })}`,
    );
  }
  const { keys, authorization_endpoint } = found;
  const page = html`<code>${untrusted(authorization_endpoint, 500)}</code>`;
  return notice(
    view.t('admin.settings.provider.found', { provider, keys, page, redirect_uri: html`<code>${redirect_uri}</code>` }),
  );
}
