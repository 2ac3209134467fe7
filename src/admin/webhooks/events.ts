import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { type EventType, eventTypes, isEventType } from '../../webhooks/event-types.ts';
import { choices } from '../components.ts';

const groups = [
  'people',
  'factors',
  'sessions',
  'clients',
  'grants',
  'entitlements',
  'services',
  'keys',
  'other',
] as const;
type Group = (typeof groups)[number];

/** By the first word of an event. A word that is new here goes to `other`, so that no event is ever out of reach. */
const groupsByWord: Readonly<Record<string, Group>> = {
  user: 'people',
  administrator: 'people',
  email: 'factors',
  password: 'factors',
  totp: 'factors',
  backup_code: 'factors',
  backup_codes: 'factors',
  passkey: 'factors',
  identity: 'factors',
  session: 'sessions',
  client: 'clients',
  app: 'grants',
  consent: 'grants',
  grant: 'grants',
  entitlement: 'entitlements',
  service_credential: 'services',
  key: 'keys',
};

const groupOf = (name: EventType): Group => groupsByWord[name.slice(0, name.indexOf('.'))] ?? 'other';

/** An event in words, with its name on the wire. */
const eventWords = (view: View, name: EventType): Html =>
  html`${view.t(`admin.webhooks.event.${name}`)} <code>${name}</code>`;

/** What a webhook can be told of, under headings. */
export const eventChoices = (view: View, isChosen: (name: EventType) => boolean): Html => {
  const byGroup = Map.groupBy(eventTypes, groupOf);
  return html`<h3>${view.t('admin.webhooks.events')}</h3>
<p class="soft">${view.t('admin.webhooks.events.what')}</p>
${groups.map((group) => {
  const names = byGroup.get(group);
  return (
    names !== undefined &&
    html`${choices(
      view.t(`admin.webhooks.group.${group}`),
      'event:',
      names.map((name) => ({ name, label: eventWords(view, name), isChosen: isChosen(name) })),
    )}\n`
  );
})}`;
};

/** What one webhook is told of. An event that is not known any more is shown by its name. */
export const eventList = (view: View, names: readonly string[]): Html =>
  html`<ul class="scopes">${names.map(
    (name) => html`<li>${isEventType(name) ? eventWords(view, name) : html`<code>${name}</code>`}</li>\n`,
  )}</ul>`;
