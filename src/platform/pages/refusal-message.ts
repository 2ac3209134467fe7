import type { ErrorCode, RequestError } from '../errors.ts';
import type { MessageKey } from '../i18n/translate.ts';
import type { Html } from './html.ts';
import type { View } from './view.ts';

/** What is said of a refusal that has no sentence of its own. The others are for who builds on us, in English. */
const sentences: Partial<Record<ErrorCode, MessageKey>> = {
  not_found: 'refusal.not_found',
  invalid_state: 'refusal.invalid_state',
  stale_revision: 'refusal.stale_revision',
  server_error: 'refusal.server_error',
  temporarily_unavailable: 'refusal.temporarily_unavailable',
};

/** A refusal in its reader's language; undefined if it exists in English alone. */
export function refusalMessage(view: View, { userMessage, code, retryAfter }: RequestError): Html | undefined {
  if (userMessage !== undefined) return view.t(userMessage.key, userMessage.values);
  if (code === 'rate_limited') return view.t('signin.too_many', { wait: view.duration(retryAfter ?? 60) });
  const key = sentences[code];
  return key === undefined ? undefined : view.t(key);
}
