/** Every action of the audit log, in the groups in which administrators look for them. */
export const actionGroups = {
  people: [
    'user.created',
    'user.changed',
    'user.disabled',
    'user.enabled',
    'user.deleted',
    'user.signed_out',
    'user.unlocked',
    'user.factors_reset',
    'user.picture_removed',
    'user.role_changed',
    'user.invited',
    'user.invitation_revoked',
    'user.data_exported',
    'user.list_exported',
    'administrator.invited',
  ],
  factors: [
    'email.verification_asked',
    'email.verified',
    'email.change_asked',
    'email.changed',
    'password.changed',
    'password.set',
    'password.reset_link_created',
    'password.reset',
    'password.removed',
    'totp.confirmed',
    'totp.disabled',
    'backup_codes.regenerated',
    'backup_code.used',
    'passkey.added',
    'passkey.renamed',
    'passkey.removed',
    'passkey.copy_suspected',
    'identity.linked',
    'identity.unlinked',
  ],
  sessions: [
    'session.started',
    'session.second_factor_asked',
    'session.refused',
    'session.ended',
    'session.ended_others',
  ],
  clients: [
    'client.registered',
    'client.edited',
    'client.approved',
    'client.rejected',
    'client.change_requested',
    'client.change_withdrawn',
    'client.change_approved',
    'client.change_rejected',
    'client.policy_changed',
    'client.suspended',
    'client.reinstated',
    'client.deleted',
    'client.secret_added',
    'client.secret_retired',
  ],
  grants: ['consent.given', 'app.disconnected', 'grant.revoked', 'logout.replayed'],
  entitlements: ['entitlement.written'],
  services: [
    'service_credential.created',
    'service_credential.rotated',
    'service_credential.restricted',
    'service_credential.retired',
  ],
  webhooks: [
    'webhook.created',
    'webhook.edited',
    'webhook.enabled',
    'webhook.disabled',
    'webhook.secret_rotated',
    'webhook.tested',
    'webhook.replayed',
    'webhook.deleted',
  ],
  keys: ['key.rotated', 'master_key.backup_confirmed', 'master_key.replaced'],
  log: ['audit_log.loss_accepted', 'store.backed_up', 'store.restored', 'mail.tested'],
} as const satisfies Record<string, readonly `${string}.${string}`[]>;

export type ActionGroup = keyof typeof actionGroups;
/** What happened, as `thing.done`. Administrators read a sentence about each: `admin.audit.event.…`. */
export type AuditAction = (typeof actionGroups)[ActionGroup][number];

export const actionGroupNames = Object.keys(actionGroups) as ActionGroup[];
export const auditActions: readonly AuditAction[] = actionGroupNames.flatMap((group) => actionGroups[group]);

const known: ReadonlySet<string> = new Set(auditActions);
/** False for an action of a later version, whose nodes may share the store. */
export const isAuditAction = (name: string): name is AuditAction => known.has(name);
