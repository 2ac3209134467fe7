import { createHash } from 'node:crypto';
import type { AuditAction } from '../audit/actions.ts';
import type { Actor } from '../audit/audit.ts';
import type { AuditRow } from '../audit/statements.ts';
import type { GroupChange } from '../groups/statements.ts';
import { inEnglish } from '../platform/i18n/translate.ts';
import type { EventType } from '../webhooks/event-types.ts';

const caep = 'https://schemas.openid.net/secevent/caep/event-type';
const risc = 'https://schemas.openid.net/secevent/risc/event-type';
const ssf = 'https://schemas.openid.net/secevent/ssf/event-type';

/** The events that a stream may ask for, by the last part of their URI (CAEP 1.0 §3, RISC 1.0 §2). */
const uris = {
  'session-revoked': `${caep}/session-revoked`,
  'credential-change': `${caep}/credential-change`,
  'token-claims-change': `${caep}/token-claims-change`,
  'account-disabled': `${risc}/account-disabled`,
  'account-enabled': `${risc}/account-enabled`,
  'account-purged': `${risc}/account-purged`,
  'identifier-changed': `${risc}/identifier-changed`,
} as const;
export type SignalType = keyof typeof uris;
export const signalTypes = Object.keys(uris) as readonly SignalType[];
export const signalUris: readonly string[] = Object.values(uris);

/** About the stream itself: it need not ask for them (SSF 1.0 §8.1.4.1, §8.1.5). */
const streamUris = { verification: `${ssf}/verification`, 'stream-updated': `${ssf}/stream-updated` } as const;
export type StreamEventType = keyof typeof streamUris;

const allUris: Readonly<Record<SignalType | StreamEventType, string>> = { ...uris, ...streamUris };
/** Of a type that a later version has queued, a URI that no receiver knows. */
export const uriOf = (type: string): string => (Object.hasOwn(allUris, type) ? allUris[type as SignalType] : type);
export const nameOfUri = (uri: string): SignalType | undefined => signalTypes.find((type) => uris[type] === uri);

/** What is stored of an event until it is sent. What is signed is made of it then. */
export type Payload = {
  /** Unix seconds of what it reports; not of an event about the stream. */
  at?: number;
  /** The one session that has ended; without it, all of the user. */
  session_id?: string;
  /** The address that identified the user before; instead of `iss` and `sub`. */
  email?: string;
  /** Claims of the user whose values have changed. They are read when it is sent. */
  claims?: readonly ChangedClaim[];
  /** Of the event. */
  members: Readonly<Record<string, unknown>>;
};
export type ChangedClaim = 'entitlements' | 'groups';
/** What a client needs of the user to read them. A signal has one claim. */
export const scopeOfClaims: Readonly<Record<ChangedClaim, string>> = {
  entitlements: 'entitlements:read',
  groups: 'groups',
};

type State = Readonly<Record<string, unknown>>;
type Facts = { target: string | null; before: State; after: State };

type Signal = {
  type: SignalType;
  /** Whom it is about; the target without it. */
  user?(facts: Facts): unknown;
  /** Not sent where it is undefined. */
  about?(facts: Facts): Partial<Payload> | undefined;
  /** It is about membership in the target. */
  isOfGroup?: true;
};

const userIdAfter = ({ after }: Facts) => after.user_id;
const allSessions: Signal = { type: 'session-revoked' };
const credential = (
  credential_type: string | ((facts: Facts) => string | undefined),
  change_type: 'create' | 'update' | 'delete' | 'revoke',
): Signal => ({
  type: 'credential-change',
  about(facts) {
    const type = typeof credential_type === 'string' ? credential_type : credential_type(facts);
    return type === undefined ? undefined : { members: { credential_type: type, change_type } };
  },
});
/** Of an event of an earlier version, which does not say it, the most common kind. */
const passkey = ({ before, after }: Facts) =>
  (after.attachment ?? before.attachment) === 'roaming' ? 'fido2-roaming' : 'fido2-platform';
const claim = (name: ChangedClaim): Signal => ({ type: 'token-claims-change', about: () => ({ claims: [name] }) });
const membership: Signal = { ...claim('groups'), user: userIdAfter, isOfGroup: true };

const factorsRemoved: readonly Signal[] = [
  credential(({ before }) => (before.totp === true ? 'app' : undefined), 'revoke'),
  credential(({ before }) => (Number(before.passkeys) > 0 ? 'fido2-platform' : undefined), 'revoke'),
  allSessions,
];

/**
 * What an audited act signals. Whatever ends all sessions of a user signals that, too, so that a receiver may know this one
 * event alone.
 */
export const signalsOfActions: { readonly [Action in EventType]?: readonly Signal[] } = {
  'session.ended': [
    { type: 'session-revoked', user: userIdAfter, about: ({ target }) => ({ session_id: target ?? '' }) },
  ],
  'session.ended_others': [allSessions],
  'user.signed_out': [allSessions],
  'password.changed': [credential('password', 'update'), allSessions],
  'password.set': [credential('password', 'create'), allSessions],
  'password.reset': [credential('password', 'update'), allSessions],
  'password.removed': [credential('password', 'delete'), allSessions],
  'security_alert.denied': [
    credential(({ after }) => (after.password_removed === true ? 'password' : undefined), 'revoke'),
    allSessions,
  ],
  'passkey.added': [credential(passkey, 'create')],
  'passkey.removed': [credential(passkey, 'delete')],
  'totp.confirmed': [credential('app', 'create')],
  'totp.disabled': [credential('app', 'delete')],
  'user.factors_reset': factorsRemoved,
  'factor_recovery.completed': factorsRemoved,
  'user.disabled': [{ type: 'account-disabled' }, allSessions],
  'user.enabled': [{ type: 'account-enabled' }],
  'user.deleted': [{ type: 'account-purged' }, allSessions],
  'email.changed': [
    {
      type: 'identifier-changed',
      // RISC 1.0 §2.5: the subject is the address before.
      about: ({ before, after }) =>
        typeof before.email === 'string' && typeof after.email === 'string'
          ? { email: before.email, members: { 'new-value': after.email } }
          : undefined,
    },
  ],
  'entitlement.written': [claim('entitlements')],
  'group.member_added': [membership],
  'group.member_removed': [membership],
};

export type PlannedSignal = {
  type: SignalType;
  ordinal: number;
  user_id: string;
  /** Clients that do not see this group do not hear of it. */
  group_id: string | undefined;
  payload: Payload;
};

/** The signals of an event of the audit log, in the order in which they are sent. */
export function signalsIn({ action, at, actor, target, before_state, after_state }: AuditRow): PlannedSignal[] {
  const signals = Object.hasOwn(signalsOfActions, action) ? signalsOfActions[action as EventType]! : [];
  const facts = { target, before: parseState(before_state), after: parseState(after_state) };
  return signals.flatMap(({ type, user = () => target, about = noMore, isOfGroup }, ordinal) => {
    const user_id = user(facts);
    const found = about(facts);
    if (found === undefined || typeof user_id !== 'string' || user_id === '') return [];
    const common = uris[type].startsWith(caep) ? causeOf(action as EventType, { at, actor, user_id }) : {};
    const group_id = isOfGroup ? (target ?? undefined) : undefined;
    return [{ type, ordinal, user_id, group_id, payload: { at, ...found, members: { ...found.members, ...common } } }];
  });
}

/** Of a group that was renamed or deleted, for one of its members: among the signals of the event a number of their own. */
export function groupSignal(
  { action, group_id, actor, changed_at: at }: GroupChange,
  user_id: string,
): PlannedSignal & { at: number } {
  const members = causeOf(action, { at, actor, user_id });
  const ordinal = createHash('sha256').update(user_id).digest().readUIntBE(0, 6);
  return { type: 'token-claims-change', at, ordinal, user_id, group_id, payload: { at, claims: ['groups'], members } };
}

const noMore = (): Partial<Payload> => ({});
const parseState = (text: string | null): State => (text === null ? {} : (JSON.parse(text) as State));

/** CAEP 1.0 §2. What an administrator has given as a reason stays here: it may be about anything. */
const causeOf = (action: EventType, { at, actor, user_id }: { at: number; actor: string; user_id: string }) => ({
  event_timestamp: at,
  initiating_entity: initiator(actor as Actor, user_id),
  reason_admin: { en: inEnglish({ key: `admin.webhooks.event.${action}` }) },
});

function initiator(actor: Actor, user_id: string): 'user' | 'admin' | 'system' {
  if (actor === `user:${user_id}`) return 'user';
  return actor === 'cli' || actor.startsWith('user:') ? 'admin' : 'system';
}

export const signalActions = Object.keys(signalsOfActions) as readonly AuditAction[];
