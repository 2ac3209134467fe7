import { mayMailAbout } from '../accounts/mail-limits.ts';
import { findUser, listReviewersAfter, type User } from '../accounts/statements.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { MailDeps } from '../platform/deps.ts';
import {
  chooseLocale,
  inConsole,
  type Locale,
  type MessageDescriptor,
  translatePlain,
} from '../platform/i18n/translate.ts';
import { windowLimit } from '../platform/limits/failure-limits.ts';
import { mailTo } from '../platform/mail/letters.ts';
import { withoutLinks } from '../platform/text.ts';
import type { ClientTarget } from './change-client.ts';
import { type Client, hasPendingChange } from './client.ts';
import { wantsReviewMails } from './declined-mails.store.ts';
import { stopUrl } from './declined-mails.ts';
import type { Deps } from './deps.ts';
import { countWaiting, findClients } from './find-clients.ts';
import { originHostOf } from './presentation.ts';
import { type ListedClient, listedWithRisks } from './read-review.ts';

/** What reviewers decide, each with a mail `client_…` of its own. */
type Decision = 'approved' | 'change_approved' | 'rejected' | 'change_rejected' | 'suspended' | 'reinstated';

/** A client can be suspended and reinstated any number of times. */
const maxMailsToOwner = { limit: 20, windowSeconds: 3600 };

/** @returns the statements, for the change that makes the decision. None without an owner, or by the owner. */
export async function mailToOwner(
  deps: MailDeps,
  { caller }: ClientTarget,
  { client_id, owner_user_id, name: app }: Client,
  decision: Decision,
  reason = '',
): Promise<Sql[]> {
  if (!deps.mail.works || owner_user_id === null || caller.actor === `user:${owner_user_id}`) return [];
  const owner = await findUser(deps.db, owner_user_id);
  if (!owner || !(await mayMailAbout(deps, 'client', owner_user_id, maxMailsToOwner))) return [];
  const url = `${deps.config.baseUrl}/developer/clients/${client_id}`;
  return mailTo(deps, owner, `client_${decision}`, { app, reason, url });
}

const reviewersAtOnce = 100;
const mostCounted = 1000;
/** Of the clients that wait, those that were registered first. */
const mostNamed = 10;
/** Characters of what owners have written, each: the mail says what waits, the page has all of it. */
const longest = { name: 60, owner: 60, note: 300 } as const;

/**
 * While clients wait for a review, each user who may approve them gets one mail a day that says how many, and which. Any node may do this at any
 * time: the mail is enqueued in the change that takes the only one of the day.
 */
export async function remindReviewers(given: MailDeps & Pick<Deps, 'riskContext' | 'vault'>): Promise<void> {
  const deps = { ...given, config: { ...given.config, rateLimits: true } }; // they are what makes it one mail a day
  if (!deps.mail.works || !deps.config.reviewMails) return;
  const count = await countWaiting(deps, mostCounted);
  // The reviewers are read once an hour, not at each run of the job.
  const rounds = windowLimit(deps, { name: 'review-mails', limit: 1, windowSeconds: 3600 });
  if (count === 0 || !(await rounds.mayTake('round'))) return;
  const { clients } = await findClients(deps, { listing: 'waiting', limit: mostNamed });
  const named = await listedWithRisks(deps, clients);
  const daily = windowLimit(deps, { name: 'review-mail', limit: 1, windowSeconds: 86_400 });
  const url = `${deps.config.baseUrl}/admin/clients`;
  let last: User | undefined;
  do {
    const some = await listReviewersAfter(deps.db, last, reviewersAtOnce);
    for (const one of some) {
      // It is about what they read in the console.
      const locale = chooseLocale(inConsole(deps.config.languages), one.locale);
      const waiting = waitingText(locale, named, count);
      const values = { count, waiting, url, unsubscribe_url: stopUrl(deps, one.user_id) };
      const mail = mailTo(deps, { ...one, locale }, 'reviews_waiting', values, wantsReviewMails(one.user_id));
      await deps.db.of(one.user_id).change({ run: { first: daily.taken(one.user_id), mail } });
    }
    last = some.length === reviewersAtOnce ? some.at(-1) : undefined;
  } while (last);
}

/** The clients by name, and how many besides. */
function waitingText(locale: Locale, named: readonly ListedClient[], count: number): string {
  const more = count - named.length;
  const rest: MessageDescriptor = { key: 'mail.reviews_waiting.more', values: { more } };
  return [...named.map((one) => entry(locale, one)), ...(more > 0 ? [translatePlain(locale, rest)] : [])].join('\n\n');
}

function entry(locale: Locale, { client, owner, risks }: ListedClient): string {
  const translate = (descriptor: MessageDescriptor) => translatePlain(locale, descriptor);
  const { note_to_reviewer: note } = client;
  const name = owner && owner.name !== null ? `${withoutLinks(owner.name, longest.owner)}, ` : '';
  const values = {
    app: withoutLinks(client.name, longest.name),
    owner: owner ? `${name}${owner.email}` : (originHostOf(client) ?? translate({ key: 'admin.clients.owner.gone' })),
  };
  const risk = risks.map(({ code }) => translate({ key: `admin.risk.${code}` })).join(', ');
  const lines: MessageDescriptor[] = [
    { key: hasPendingChange(client) ? 'mail.reviews_waiting.change' : 'mail.reviews_waiting.new', values },
    ...(risk === '' ? [] : [{ key: 'mail.reviews_waiting.risks', values: { risks: risk } } as const]),
    ...(note === null
      ? []
      : [{ key: 'mail.reviews_waiting.note', values: { note: withoutLinks(note, longest.note) } } as const]),
  ];
  return lines.map(translate).join('\n');
}
