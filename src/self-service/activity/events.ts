import type { AuditAction } from '../../audit/actions.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';

export const activityKinds = ['sign_ins', 'security', 'apps'] as const;
export type ActivityKind = (typeof activityKinds)[number];

/** What people are shown of the audit log, with the sentence about it; what a mail says of it is said in the same words. */
const logged = {
  sign_ins: {
    'session.started': 'sessions.signed_in',
    'session.second_factor_asked': 'activity.event.first_step',
    'session.refused': 'mail.second_factor_refused.subject',
    'session.ended': 'activity.event.signed_out',
    'session.ended_others': 'sessions.done.others',
    'user.signed_out': 'mail.signed_out.subject',
    'trusted_browser.added': 'activity.event.trusted',
    'trusted_browser.ended': 'activity.event.trusted',
    'trusted_browser.replayed': 'mail.trusted_browser_replayed.subject',
  },
  security: {
    'user.created': 'activity.event.created',
    'user.changed': 'activity.event.profile',
    'user.picture_removed': 'activity.event.profile',
    'user.disabled': 'activity.event.disabled',
    'user.enabled': 'activity.event.enabled',
    'user.unlocked': 'activity.event.enabled',
    'user.role_changed': 'activity.event.role',
    'user.data_exported': 'activity.event.exported',
    'user.factors_reset': 'mail.factors_reset.subject',
    'email.verification_asked': 'activity.event.email_asked',
    'email.change_asked': 'activity.event.email_asked',
    'email.verified': 'activity.event.email_verified',
    'email.changed': 'mail.email_changed.subject',
    'password.changed': 'mail.password_changed.subject',
    'password.set': 'mail.password_set.subject',
    'password.removed': 'mail.password_removed.subject',
    'password.reset': 'mail.password_reset.subject',
    'password.reset_link_created': 'mail.reset_link_created.subject',
    'totp.confirmed': 'mail.totp_confirmed.subject',
    'totp.disabled': 'mail.totp_disabled.subject',
    'backup_codes.regenerated': 'mail.backup_codes_regenerated.subject',
    'backup_code.used': 'mail.backup_code_used.subject',
    'passkey.added': 'mail.passkey_added.subject',
    'passkey.removed': 'mail.passkey_removed.subject',
    'passkey.copy_suspected': 'mail.passkey_copied.subject',
    'identity.linked': 'mail.provider_linked.subject',
    'identity.unlinked': 'mail.provider_unlinked.subject',
    'factor_recovery.requested': 'mail.factor_recovery.subject',
    'factor_recovery.link_sent': 'mail.factor_recovery_link.subject',
    'factor_recovery.stopped': 'mail.factor_recovery_stopped.subject',
    'factor_recovery.completed': 'mail.factors_recovered.subject',
    'security_alert.recognized': 'alert.me',
    'security_alert.denied': 'alert.not_me',
  },
  apps: {
    'consent.given': 'activity.event.app_connected',
    'app.disconnected': 'mail.app_disconnected.subject',
    'security_alert.raised': 'mail.grant_replayed.subject', // of another kind there is an event of its own
  },
} as const satisfies Record<ActivityKind, { readonly [Action in AuditAction]?: MessageKey }>;

/** What anyone can cause without signing in, which is counted beside the log. */
const unauthenticated = {
  'session.refused': logged.sign_ins['session.refused'],
  'password.reset_asked': 'activity.event.asked',
  'sign_in.code_asked': 'activity.event.asked',
  'sign_up.asked': 'activity.event.asked',
} as const;

export type ActivityText = (typeof sentences)[keyof typeof sentences];
const sentences = { ...logged.sign_ins, ...logged.security, ...logged.apps, ...unauthenticated } as const;

export const isOfActivity = (action: string): action is keyof typeof sentences => Object.hasOwn(sentences, action);
export const sentenceOf = (action: keyof typeof sentences): ActivityText => sentences[action];

export const actionsOfKind = (kind: ActivityKind | undefined): readonly AuditAction[] =>
  (kind ? [kind] : activityKinds).flatMap((one) => Object.keys(logged[one]) as AuditAction[]);

export const kindOfAction = (action: string): ActivityKind =>
  activityKinds.find((kind) => Object.hasOwn(logged[kind], action)) ?? 'sign_ins';
