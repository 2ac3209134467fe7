import type { Parameters } from '../platform/http/parameters.ts';
import { hidden } from '../platform/pages/form.ts';
import { type Html, html, untrusted } from '../platform/pages/html.ts';
import { badge, counted, emptyList, exactTime, itemsOr, pager } from '../platform/pages/lists.ts';
import type { View } from '../platform/pages/view.ts';
import {
  type DeliveryCounts,
  type DeliveryPage,
  type DeliveryState,
  deliveriesCountedAtMost,
  deliveryStates,
  type ListedDelivery,
} from './queue.ts';

/** How a page shows the deliveries of one kind. */
export type DeliveryLook<Delivery extends ListedDelivery> = {
  /** What the delivery is about. */
  title(delivery: Delivery): Html;
  /** Where the form of a dead one is posted to; undefined while nothing can be sent. */
  resend: string | undefined;
  /** What was answered to the latest attempt, if anything; then its error says no more. */
  answer?(delivery: Delivery): Html | false;
};

export const tones = { delivered: 'good', waiting: 'off', dead: 'warn' } as const;

export const deliveryItems = <Delivery extends ListedDelivery>(
  view: View,
  deliveries: readonly Delivery[],
  { title, resend, answer }: DeliveryLook<Delivery>,
): Html[] =>
  deliveries.map(
    (delivery) => html`<li><div>
<h3 id="${delivery.delivery_id}">${title(delivery)} ${badge(view.t(`deliveries.state.${delivery.state}`), tones[delivery.state])}</h3>
<p>${exactTime(delivery.created_at)} · <code>${delivery.delivery_id}</code></p>
<p>${view.t('deliveries.attempts', { count: delivery.attempts })}${nextAttempt(view, delivery, resend === undefined)}${answer?.(delivery)}</p>
${delivery.last_error !== null && !answer?.(delivery) && html`<p lang="en">${untrusted(delivery.last_error, 300)}</p>`}
</div>
${
  (delivery.state === 'dead' || (delivery.state === 'waiting' && delivery.attempts > 0)) &&
  resend !== undefined &&
  html`<form method="post" action="${resend}">
${hidden('delivery_id', delivery.delivery_id)}
<button type="submit" class="quiet" aria-describedby="${delivery.delivery_id}">${view.t(delivery.state === 'waiting' ? 'deliveries.send_now' : 'deliveries.resend')}</button></form>`
}</li>
`,
  );

/** @param isPaused none is sent at present, so there is no next attempt to announce. */
export const nextAttempt = (
  view: View,
  { attempts, next_attempt_at }: ListedDelivery,
  isPaused: boolean,
): Html | false =>
  next_attempt_at !== null &&
  (isPaused
    ? html` · ${view.t('deliveries.kept')}`
    : attempts > 0 && html` · ${view.t('deliveries.next', { when: view.until(next_attempt_at) })}`);

const sumOf = ({ waiting, delivered, dead }: DeliveryCounts): number => waiting + delivered + dead;

/** @param state undefined: all. */
export const stateName = (view: View, state: DeliveryState | undefined): Html =>
  view.t(state === undefined ? 'deliveries.all' : `deliveries.state.${state}`);

type ListLook<Delivery extends ListedDelivery> = DeliveryLook<Delivery> & {
  /** A page of the list. */
  pathTo(query: { state?: DeliveryState } & Parameters): string;
  counts: DeliveryCounts;
  /** Shown before the first delivery. */
  none: Html;
};

/** Deliveries to one receiver, all of them or those in one state, a page at a time. @param state undefined: all. */
export const deliveryList = <Delivery extends ListedDelivery>(
  view: View,
  { deliveries, next }: DeliveryPage<Delivery>,
  state: DeliveryState | undefined,
  { pathTo, counts, none, ...look }: ListLook<Delivery>,
): Html =>
  deliveries.length === 0 && state === undefined
    ? emptyList(none)
    : html`<p class="actions">${[undefined, ...deliveryStates].map(
        (one) =>
          html`<a href="${pathTo({ state: one })}"${one === state && html` aria-current="true"`}>${stateName(view, one)} (${counted(view, one === undefined ? sumOf(counts) : counts[one], deliveriesCountedAtMost)})</a>\n`,
      )}</p>
${itemsOr(deliveryItems(view, deliveries, look), view.t('deliveries.none_such'))}
${pager(view, { id: 'deliveries-older', next, label: view.t('deliveries.older'), pathTo: (at) => pathTo({ state, ...at }) })}`;
