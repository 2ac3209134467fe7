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
    'group.member_added': 'activity.event.group_joined',
    'group.member_removed': 'activity.event.group_left',
  },
  apps: {
    'consent.given': 'activity.event.app_connected',
    'app.disconnected': 'mail.app_disconnected.subject',
    'grant.revoked': 'mail.grant_ended.subject', // by an administrator: what else ends one is known to the app, or an alert is about it
    'client.suspended': 'activity.event.app_suspended', // for those who used it, as they are noted when their access ends
    'client.deleted': 'activity.event.app_deleted',
    'entitlement.written': 'activity.event.subscriptions',
    'security_alert.raised': 'mail.grant_replayed.subject', // of another kind there is an event of its own
  },
} as const satisfies Record<ActivityKind, { readonly [Action in AuditAction]?: MessageKey }>;

type Shown = { [Kind in ActivityKind]: keyof (typeof logged)[Kind] }[ActivityKind];

/**
 * Of all else in the log, why no one is shown it as something that happened with their account. `service`: it is about the service, or a thing
 * that many use. `no account`: there is none at that time. `owner`: about an app, whose history its owner reads at the app. `label`: a name that
 * only its user sees.
 */
type Unshown = 'service' | 'no account' | 'owner' | 'label';
export const unshown: Readonly<Record<Exclude<AuditAction, Shown>, Unshown>> = {
  'user.deleted': 'no account',
  'user.invited': 'no account',
  'user.invitation_revoked': 'no account',
  'administrator.invited': 'no account',
  'user.list_exported': 'service',
  'user.list_imported': 'service',
  'passkey.renamed': 'label',
  'client.registered': 'owner',
  'client.edited': 'owner',
  'client.review_asked': 'owner',
  'client.approved': 'owner',
  'client.rejected': 'owner', // it had no users: of an approved app only the change is rejected
  'client.change_requested': 'owner',
  'client.change_withdrawn': 'owner',
  'client.change_approved': 'owner',
  'client.change_rejected': 'owner',
  'client.policy_changed': 'owner',
  'client.reinstated': 'owner', // it gives no access back
  'client.secret_added': 'owner',
  'client.secret_retired': 'owner',
  'client_host.approved': 'service',
  'client_host.removed': 'service',
  'logout.replayed': 'owner',
  'service_credential.created': 'service',
  'service_credential.rotated': 'service',
  'service_credential.restricted': 'service',
  'service_credential.retired': 'service',
  'api.registered': 'service',
  'api.edited': 'service',
  'api.scope_retired': 'service',
  'api.retired': 'service',
  'group.created': 'service',
  'group.edited': 'service',
  'group.deleted': 'service',
  'attribute.defined': 'service',
  'attribute.edited': 'service',
  'attribute.deleted': 'service',
  'webhook.created': 'service',
  'webhook.edited': 'service',
  'webhook.enabled': 'service',
  'webhook.disabled': 'service',
  'webhook.secret_rotated': 'service',
  'webhook.tested': 'service',
  'webhook.replayed': 'service',
  'webhook.deleted': 'service',
  'signal_stream.created': 'service',
  'signal_stream.edited': 'service',
  'signal_stream.enabled': 'service',
  'signal_stream.paused': 'service',
  'signal_stream.disabled': 'service',
  'signal_stream.replayed': 'service',
  'signal_stream.deleted': 'service',
  'provider.created': 'service',
  'provider.edited': 'service',
  'provider.enabled': 'service',
  'provider.disabled': 'service', // the connection stays
  'provider.deleted': 'service',
  'key.rotated': 'service',
  'master_key.backup_confirmed': 'service',
  'master_key.replaced': 'service',
  'audit_log.loss_accepted': 'service',
  'store.backed_up': 'service',
  'store.restored': 'service',
  'store.moved': 'service',
  'store.exported': 'service',
  'store.imported': 'service',
  'mail.tested': 'service',
  'brand.changed': 'service',
  'setting.changed': 'service',
};

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
