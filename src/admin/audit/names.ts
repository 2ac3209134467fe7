import { namesOfUsers } from '../../accounts/statements.ts';
import { findAttributes } from '../../attributes/statements.ts';
import type { AuditRecord } from '../../audit/read-log.ts';
import { statesAtDeletion } from '../../audit/statements.ts';
import { isForeignClientId } from '../../clients/client.ts';
import { namesOfClients } from '../../clients/find-clients.ts';
import { isMetadataUrl } from '../../clients/metadata-url.ts';
import { allCredentials } from '../../entitlements/statements.ts';
import { findGroups } from '../../groups/statements.ts';
import type { Db } from '../../platform/db/db.ts';
import { mayBeUserId } from '../../platform/ids.ts';
import { allWebhooks, nameOfWebhook } from '../../webhooks/list-webhooks.ts';

/** What people call what the log has as an id. `isGone`: it was deleted, and the log alone still knows the name. */
export type Names = ReadonlyMap<string, Name>;
type Name = { readonly name: string; readonly email?: string; readonly isGone?: true };

export type NamedEvent = Pick<AuditRecord, 'action' | 'actor' | 'target' | 'reason' | 'before' | 'after'>;

/** A member of a state that is a text; a state may be anything that a version has ever written. */
export function textIn(state: unknown, member: string): string | undefined {
  const value = typeof state === 'object' && state !== null ? (state as Record<string, unknown>)[member] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Of an actor such as `user:usr_…`, or an id. */
export const idOf = (text: string): string => text.replace(/^(user|client|service):/, '');

const idsIn = ({ actor, target, after }: NamedEvent): string[] =>
  [idOf(actor), target, textIn(after, 'user_id'), textIn(after, 'client_id')].filter((id) => typeof id === 'string');

/** The numbers of ids that statements are made for. */
const sizes = [1, 10, 50, 200];

/** Repeated, so that a few statements serve lists of any length. */
const padded = (ids: readonly string[]): string[] => {
  const size = sizes.find((one) => one >= ids.length) ?? ids.length;
  return [...ids, ...Array<string>(size - ids.length).fill(ids[0] ?? '')];
};

const noRows = Promise.resolve([]);

/** The names of all that is in a page of events: one read for each kind of thing that is in it. */
export async function namesIn(
  { db }: { db: Db },
  events: readonly NamedEvent[],
  ids: readonly string[] = [],
): Promise<Names> {
  const all = [...new Set([...events.flatMap(idsIn), ...ids])];
  const ofKind = (prefix: string) => all.filter((id) => id.startsWith(prefix));
  const [userIds, clientIds] = [
    all.filter(mayBeUserId),
    [...ofKind('cl_'), ...all.filter((id) => isMetadataUrl(id) || isForeignClientId(id))],
  ];
  const [groupIds, attributeIds] = [ofKind('grp_'), ofKind('atr_')];
  const [users, clients, credentials, webhooks, groups, attributes] = await Promise.all([
    userIds.length > 0 ? namesOfUsers(db, padded(userIds)) : noRows,
    clientIds.length > 0 ? namesOfClients(db, padded(clientIds)) : noRows,
    ofKind('svc_').length > 0 ? allCredentials({ db }) : noRows,
    ofKind('wh_').length > 0 ? allWebhooks({ db }) : noRows,
    groupIds.length > 0 ? findGroups(db, padded(groupIds)) : noRows,
    attributeIds.length > 0 ? findAttributes(db, padded(attributeIds)) : noRows,
  ]);
  const names = new Map<string, Name>([
    ...users.map(({ user_id, name, email }) => [user_id, { name: name ?? email, email }] as const),
    ...clients.map(({ client_id, name }) => [client_id, { name }] as const),
    ...credentials.map(({ credential_id, name }) => [credential_id, { name }] as const),
    ...attributes.map(({ attribute_id, name }) => [attribute_id, { name }] as const),
    ...groups.map(({ group_id, name }) => [group_id, { name }] as const),
    ...webhooks.map((webhook) => [webhook.webhook_id, { name: nameOfWebhook(webhook) }] as const),
  ]);
  const unknown = clientIds.filter((id) => !names.has(id));
  if (unknown.length === 0) return names;
  for (const { target, before_state } of await statesAtDeletion(db, padded(unknown))) {
    const name = textIn(JSON.parse(before_state ?? 'null'), 'name');
    if (target !== null && name !== undefined) names.set(target, { name, isGone: true });
  }
  return names;
}
