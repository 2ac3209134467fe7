import { listAdministratorsAfter, type User } from '../../accounts/statements.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { nameOfWebhook } from '../../webhooks/list-webhooks.ts';
import { markNotified, unreportedFailures, type Webhook } from '../../webhooks/statements.ts';

/** Shorter trouble is over before one reads of it. */
const failingSeconds = 3600;
/** Webhooks of one run; the next one tells of the others. */
const atOnce = 20;
const administratorsAtOnce = 100;

/**
 * Mails administrators about webhooks that have failed for an hour, once until they are well again, and about those that were
 * disabled for it. Any node may do this at any time: the first mails are enqueued in the change that takes the news.
 */
export async function reportFailingWebhooks(deps: MailDeps): Promise<void> {
  if (!deps.mail.works) return;
  for (const webhook of await unreportedFailures(deps.db, now(deps) - failingSeconds, atOnce))
    await report(deps, webhook);
}

async function report(deps: MailDeps, webhook: Webhook): Promise<void> {
  const name =
    webhook.disabled_at === null ? 'webhook_failing' : (`webhook_disabled_${webhook.disabled_reason!}` as const);
  const since = new Date((webhook.failing_since ?? now(deps)) * 1000).toISOString().slice(0, 16).replace('T', ' ');
  const url = `${deps.config.baseUrl}/admin/webhooks/${webhook.webhook_id}`;
  const values = { webhook: nameOfWebhook(webhook), since: `${since} UTC`, url };
  let last: User | undefined;
  do {
    const some = await listAdministratorsAfter(deps.db, last, administratorsAtOnce);
    const mails = some.flatMap((one) => mailTo(deps, one, name, values));
    const taken = last === undefined ? { notified: mustChange(markNotified(webhook)) } : {};
    if (!(await deps.db.shared.change({ run: { ...taken, mails } })).ok) return;
    last = some.length === administratorsAtOnce ? some.at(-1) : undefined;
  } while (last);
}
