import { type AuditAction, isAuditAction } from '../../audit/actions.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { isEventType } from '../../webhooks/event-types.ts';
import { pageOf, userPath } from '../components.ts';
import { idOf, type NamedEvent, type Names, textIn } from './names.ts';

/** What has an id, by its name and with a link to its page; what is gone, by all that is left of it. */
export function entityName(view: View, names: Names, id: string): Html {
  const known = names.get(id);
  const name = known && untrusted(known.name, 80);
  if (known?.isGone) return html`${name} (${view.t('admin.audit.deleted_client')})`;
  const path = known?.email === undefined ? pageOf(view, id) : userPath(view, id);
  if (name !== undefined && path !== undefined) return html`<a href="${path}">${name}</a>`;
  if (name !== undefined) return name;
  const code = html`<code>${untrusted(id, 80)}</code>`;
  if (id.startsWith('usr_')) return html`${view.t('admin.audit.deleted_account')} ${code}`;
  return id.startsWith('cl_') ? html`${view.t('admin.audit.deleted_client')} ${code}` : code;
}

export function actorName(view: View, names: Names, actor: string): Html {
  if (actor === 'cli') return view.t('admin.audit.actor.cli');
  return actor === 'system' ? html`${view.branding.name}` : entityName(view, names, idOf(actor));
}

/** An event in words: "Olivia Hartmann approved Quarry". An action that this version does not know is shown as it is. */
export function eventSentence(view: View, names: Names, event: NamedEvent): Html {
  const { action, target, reason, after } = event;
  const actor = actorName(view, names, event.actor);
  if (!isAuditAction(action)) {
    return view.t('admin.audit.event_unknown', { actor, action: html`<code>${untrusted(action, 100)}</code>` });
  }
  const named = (id: string | undefined) =>
    id === undefined ? view.t('admin.audit.unknown') : entityName(view, names, id);
  const ofKind = (prefix: string) => (target?.startsWith(prefix) ? target : undefined);
  const user_id =
    textIn(after, 'user_id') ?? (names.get(target ?? '')?.email === undefined ? ofKind('usr_') : (target ?? undefined));
  return view.t(`admin.audit.event.${action}`, {
    actor,
    user: named(user_id),
    client: named(textIn(after, 'client_id') ?? ofKind('cl_')),
    target: named(target ?? undefined),
    self: event.actor === `user:${user_id}` ? 'yes' : 'other',
    reason: reason ?? '',
    role: textIn(after, 'role') ?? '',
    kind: textIn(after, 'kind') ?? '',
    value: valueSet(view, after),
  });
}

/** Of a setting. */
function valueSet(view: View, after: unknown): Html {
  const value = textIn(after, 'value');
  return value === undefined ? view.t('admin.settings.source.default') : html`<q>${untrusted(value, 200)}</q>`;
}

/** Of all events of a kind. */
export const actionLabel = (action: AuditAction): MessageKey =>
  isEventType(action) ? `admin.webhooks.event.${action}` : `admin.audit.action.${action}`;
