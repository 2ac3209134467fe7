import type { FieldProblem } from '../../platform/errors.ts';
import { problemAt } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { type EventType, eventTypes, isEventType } from '../../webhooks/event-types.ts';
import { type EventGroup, eventGroups, everything } from './event-groups.ts';

/** An event in words, with its name on the wire. */
export const eventWords = (view: View, name: EventType): Html =>
  html`${view.t(`admin.webhooks.event.${name}`)} <code>${name}</code>`;

/** The events that a webhook may receive. A box for all events of a group, and below it those of the group one by one. */
export const eventChoices = (view: View, chosen: readonly EventType[], problems: readonly FieldProblem[]): Html => {
  const hasAll = (names: readonly EventType[]) => names.every((name) => chosen.includes(name));
  const box = (group: EventGroup | typeof everything, names: readonly EventType[], isChosen: boolean) =>
    html`<label><input type="checkbox" name="group:${group}" value="on"${isChosen && html` checked`}> ${view.t('admin.webhooks.group.every', { count: names.length })}</label>`;
  const eventBox = (name: EventType, isChosen: boolean) =>
    html`<label><input type="checkbox" name="event:${name}" value="on"${isChosen && html` checked`}> ${eventWords(view, name)}</label>\n`;
  const isEverything = hasAll(eventTypes);
  return html`<h2 id="event_types">${view.t('admin.webhooks.events')}</h2>
<p class="soft">${view.t('admin.webhooks.events.what')}</p>${problemAt(view, problems, 'event_types')}
<fieldset class="everything"><legend>${view.t('admin.webhooks.group.all')}</legend>
${box(everything, eventTypes, isEverything)}</fieldset>
<div class="groups">${eventGroups.map(({ group, names }) => {
    const isWhole = !isEverything && hasAll(names);
    const single = isEverything || isWhole ? [] : names.filter((name) => chosen.includes(name));
    const legend = html`<legend>${view.t(`admin.webhooks.group.${group}`)}</legend>`;
    if (names.length === 1)
      return html`<fieldset>${legend}\n${names.map((name) => eventBox(name, isWhole))}</fieldset>\n`;
    return html`<fieldset>${legend}
${box(group, names, isWhole)}
<details${single.length > 0 && html` open`}><summary>${view.t('admin.webhooks.group.single')}</summary>
${names.map((name) => eventBox(name, single.includes(name)))}</details></fieldset>\n`;
  })}</div>`;
};

/** The events that a webhook receives. One that this version does not know is shown by its name. */
export const eventList = (view: View, names: readonly string[]): Html =>
  html`<ul class="scopes">${names.map(
    (name) => html`<li>${isEventType(name) ? eventWords(view, name) : html`<code>${name}</code>`}</li>\n`,
  )}</ul>`;
