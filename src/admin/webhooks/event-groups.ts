import { type ActionGroup, actionGroupNames, actionGroups } from '../../audit/actions.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { type EventType, eventTypes, isEventType } from '../../webhooks/event-types.ts';
import { checkedNames } from '../components.ts';

const unreported = ['webhooks', 'signals', 'log'] as const satisfies readonly ActionGroup[];
/** No webhook receives what happens to webhooks, to the streams of other receivers, or to the log. */
export type EventGroup = Exclude<ActionGroup, (typeof unreported)[number]>;
export const isEventGroup = (group: ActionGroup): group is EventGroup => !unreported.some((one) => one === group);

/** As in the audit log. */
export const eventGroups: readonly { group: EventGroup; names: readonly EventType[] }[] = actionGroupNames
  .filter(isEventGroup)
  .map((group) => ({ group, names: (actionGroups[group] as readonly string[]).filter(isEventType) }));

/** The name of the box that stands for all events. */
export const everything = 'all';

/** A group that is ticked stands for its events, so that the form needs no script. */
export function chosenEvents(form: Parameters): EventType[] {
  if (form[`group:${everything}`] === 'on') return [...eventTypes];
  const single = checkedNames(form, 'event:', eventTypes);
  return eventGroups.flatMap(({ group, names }) =>
    form[`group:${group}`] === 'on' ? names : names.filter((name) => single.includes(name)),
  );
}
