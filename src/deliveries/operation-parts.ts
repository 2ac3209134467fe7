import { nullable, Time } from '../platform/http/operation.ts';
import { paging } from '../platform/http/paging.ts';
import { list, time } from '../platform/report.ts';
import { Type } from '../platform/schema.ts';
import { type DeliveryPage, deliveryStates, type ListedDelivery } from './queue.ts';

// What operations that list deliveries have in common.

export const deliveryMembers = {
  delivery_id: Type.String(),
  state: Type.Enum([...deliveryStates]),
  attempts: Type.Integer({ minimum: 0 }),
  created_at: Time,
  next_attempt_at: nullable(Time),
  delivered_at: nullable(Time),
  dead_at: nullable(Time),
  last_error: nullable(Type.String()),
};

export const deliveryQuery = {
  state: Type.Optional(
    Type.Enum([...deliveryStates], {
      description: 'Only deliveries in this state: `waiting` ones are retried, `dead` ones have failed.',
    }),
  ),
  ...paging,
};

/**
 * As commands print them.
 * @param heading of the column that says what a delivery is about.
 */
export function describeDeliveries<Delivery extends Omit<ListedDelivery, 'state'> & { readonly state: string }>(
  { deliveries, next }: { readonly deliveries: readonly Delivery[]; readonly next: DeliveryPage['next'] },
  heading: string,
  about: (delivery: Delivery) => string,
): string {
  const listed = list([
    ['DELIVERY', heading, 'STATE', 'ATTEMPTS', 'CREATED', 'NEXT ATTEMPT', 'LAST ERROR'],
    ...deliveries.map((one) => [
      one.delivery_id,
      about(one),
      one.state,
      one.attempts,
      time(one.created_at),
      time(one.next_attempt_at),
      one.last_error,
    ]),
  ]);
  return next === null ? listed : `${listed}\n\nMore results: --after ${next}`;
}
