/**
 * Who does it. `administrators`: they alone, and jobs. `users`: each user for themselves. The others are done by users to what is
 * their own, and by administrators to what is another's: by its `target`, by the `user_id` that it names, by the `owner` of the
 * client that is its target, or by the owner of the one whose `client_id` it names.
 */
type DoneBy = 'administrators' | 'users' | 'target' | 'user_id' | 'owner' | 'client_id';

/** Every action of the audit log, in the groups in which administrators look for them, with who does it. */
const actions = {
  people: {
    'user.created': 'target',
    'user.changed': 'target',
    'user.disabled': 'administrators',
    'user.enabled': 'administrators',
    'user.deleted': 'target',
    'user.signed_out': 'administrators',
    'user.unlocked': 'administrators',
    'user.factors_reset': 'administrators',
    'user.picture_removed': 'administrators',
    'user.role_changed': 'administrators',
    'user.invited': 'administrators',
    'user.invitation_revoked': 'administrators',
    'user.data_exported': 'target',
    'user.list_exported': 'administrators',
    'user.list_imported': 'administrators',
    'administrator.invited': 'administrators',
  },
  factors: {
    'email.verification_asked': 'users',
    'email.verified': 'target',
    'email.change_asked': 'users',
    'email.changed': 'target',
    'password.changed': 'users',
    'password.set': 'users',
    'password.reset_link_created': 'administrators',
    'password.reset': 'users',
    'password.removed': 'users',
    'totp.confirmed': 'users',
    'totp.disabled': 'users',
    'backup_codes.regenerated': 'users',
    'backup_code.used': 'users',
    'passkey.added': 'users',
    'passkey.renamed': 'users',
    'passkey.removed': 'users',
    'passkey.copy_suspected': 'users',
    'identity.linked': 'users',
    'identity.unlinked': 'users',
    'factor_recovery.requested': 'users',
    'factor_recovery.link_sent': 'users',
    'factor_recovery.stopped': 'target',
    'factor_recovery.completed': 'users',
  },
  sessions: {
    'session.started': 'users',
    'session.second_factor_asked': 'users',
    'session.refused': 'users',
    'session.ended': 'user_id',
    'session.ended_others': 'users',
    'trusted_browser.added': 'users',
    'trusted_browser.replayed': 'users',
    'trusted_browser.ended': 'user_id',
    'security_alert.raised': 'users',
    'security_alert.recognized': 'users',
    'security_alert.denied': 'users',
  },
  clients: {
    'client.registered': 'owner',
    'client.edited': 'owner',
    'client.review_asked': 'users',
    'client.approved': 'administrators',
    'client.rejected': 'administrators',
    'client.change_requested': 'owner',
    'client.change_withdrawn': 'owner',
    'client.change_approved': 'administrators',
    'client.change_rejected': 'administrators',
    'client.policy_changed': 'administrators',
    'client.suspended': 'administrators',
    'client.reinstated': 'administrators',
    'client.deleted': 'owner',
    'client.secret_added': 'owner',
    'client.secret_retired': 'owner',
    'client_host.approved': 'administrators',
    'client_host.removed': 'administrators',
  },
  grants: {
    'consent.given': 'users',
    'app.disconnected': 'users',
    'grant.revoked': 'user_id',
    'logout.replayed': 'client_id',
  },
  entitlements: {
    'entitlement.written': 'users',
  },
  services: {
    'service_credential.created': 'administrators',
    'service_credential.rotated': 'administrators',
    'service_credential.restricted': 'administrators',
    'service_credential.retired': 'administrators',
  },
  apis: {
    'api.registered': 'administrators',
    'api.edited': 'administrators',
    'api.scope_retired': 'administrators',
    'api.retired': 'administrators',
  },
  groups: {
    'group.created': 'administrators',
    'group.edited': 'administrators',
    'group.deleted': 'administrators',
    'group.member_added': 'user_id',
    'group.member_removed': 'user_id',
  },
  attributes: {
    'attribute.defined': 'administrators',
    'attribute.edited': 'administrators',
    'attribute.deleted': 'administrators',
  },
  webhooks: {
    'webhook.created': 'administrators',
    'webhook.edited': 'administrators',
    'webhook.enabled': 'administrators',
    'webhook.disabled': 'administrators',
    'webhook.secret_rotated': 'administrators',
    'webhook.tested': 'administrators',
    'webhook.replayed': 'administrators',
    'webhook.deleted': 'administrators',
  },
  signals: {
    'signal_stream.created': 'administrators',
    'signal_stream.edited': 'administrators',
    'signal_stream.enabled': 'client_id',
    'signal_stream.paused': 'client_id',
    'signal_stream.disabled': 'administrators',
    'signal_stream.replayed': 'client_id',
    'signal_stream.deleted': 'client_id',
  },
  providers: {
    'provider.created': 'administrators',
    'provider.edited': 'administrators',
    'provider.enabled': 'administrators',
    'provider.disabled': 'administrators',
    'provider.deleted': 'administrators',
  },
  keys: {
    'key.rotated': 'administrators',
    'master_key.backup_confirmed': 'administrators',
    'master_key.replaced': 'administrators',
  },
  log: {
    'audit_log.loss_accepted': 'administrators',
    'store.backed_up': 'administrators',
    'store.restored': 'administrators',
    'store.moved': 'administrators',
    'store.exported': 'administrators',
    'store.imported': 'administrators',
    'mail.tested': 'administrators',
    'brand.changed': 'administrators',
    'setting.changed': 'administrators',
  },
} as const satisfies Record<string, Readonly<Record<`${string}.${string}`, DoneBy>>>;

export type ActionGroup = keyof typeof actions;
type ActionOf<Group extends ActionGroup> = keyof (typeof actions)[Group];
/** What happened, as `thing.done`. Administrators read a sentence about each: `admin.audit.event.…`. */
export type AuditAction = { [Group in ActionGroup]: ActionOf<Group> }[ActionGroup];

export const actionGroupNames = Object.keys(actions) as ActionGroup[];
export const actionGroups = Object.fromEntries(
  actionGroupNames.map((group) => [group, Object.keys(actions[group])]),
) as unknown as { readonly [Group in ActionGroup]: readonly ActionOf<Group>[] };
export const auditActions: readonly AuditAction[] = actionGroupNames.flatMap((group) => actionGroups[group]);

const doneBy = Object.assign({}, ...Object.values(actions)) as Readonly<Record<AuditAction, DoneBy>>;
export const actionsBy = (who: DoneBy): readonly AuditAction[] =>
  auditActions.filter((action) => doneBy[action] === who);

const known: ReadonlySet<string> = new Set(auditActions);
/** False for an action of a later version, whose nodes may share the store. */
export const isAuditAction = (name: string): name is AuditAction => known.has(name);
