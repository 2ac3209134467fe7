import { auditEvent } from '../../audit/audit.ts';
import { activityDays } from '../../audit/read-activity.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { Deps } from '../../platform/deps.ts';
import { type AlertId, newIdOf } from '../../platform/ids.ts';
import type { AlertFacts, AlertKind, AlertUse } from './kinds.ts';
import { insertAlert, type NewAlert } from './store.ts';

/** As long as what happened can be read besides. */
const keptSeconds = activityDays * 86_400;

export const alertPath = (alert_id: AlertId): string => `/account/alerts/${alert_id}`;

/** Something that a user is to be asked about, with statements for the change that it is about. */
export type RaisedAlert = {
  readonly alert_id: AlertId;
  /** For the mail. It leads to a page that asks for a sign-in, and has no secret. */
  readonly url: string;
  readonly facts: AlertFacts;
  readonly statements: readonly Sql[];
};

type Raised = Pick<NewAlert, 'user_id' | 'session_id'> & {
  client_id: string | null;
  kind: AlertKind;
  facts: AlertFacts;
};

/** @param onlyIf of the event: rows of the log are for good, and what causes them may be limited. */
export function raiseAlert(
  deps: Pick<Deps, 'clock' | 'config'>,
  { user_id, kind, client_id, session_id, facts }: Raised,
  onlyIf?: Sql,
): RaisedAlert {
  const at = now(deps);
  const alert_id = newIdOf(user_id, 'alert');
  const url = deps.config.baseUrl + alertPath(alert_id);
  const alert = { alert_id, user_id, kind, client_id, session_id, facts, created_at: at, expires_at: at + keptSeconds };
  const event = {
    action: 'security_alert.raised',
    actor: 'system',
    target: user_id,
    address: facts.uses.at(-1)?.address ?? undefined,
    after: { alert_id, kind, client_id, session_id, url, ...facts },
    onlyIf,
  } as const;
  return { alert_id, url, facts, statements: [...insertAlert(alert), auditEvent(event, at).statement] };
}

/** Nothing is known of it but when it was at the latest. */
export const unknownUse = (not_after: number | null): AlertUse => ({
  at: null,
  not_after,
  address: null,
  agent: null,
  dpop: false,
});

/** What is known of something that is no token. @param uses the earlier first. */
export const factsOf = (uses: AlertUse[], more: Pick<AlertFacts, 'passkey'> = {}): AlertFacts => ({
  uses,
  uses_between: 0,
  access_tokens_until: null,
  ...more,
});
