import { type AlertKind, alertFacts, alertKindNames, isAlertKind } from '../../authentication/alerts/kinds.ts';
import { type AlertRow, alertAnswers, alertsOfUser, findAlert } from '../../authentication/statements.ts';
import { nameForUsers } from '../../clients/presentation.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import { notFound } from '../../platform/errors.ts';
import { nullable, Time } from '../../platform/http/operation.ts';
import type { UserId } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';

/** Something that happened with an account, about which its user is asked: "was that you?". */
export const AlertRecord = Type.Object({
  alert_id: Type.String({ description: 'Identifies it in requests, and in the address of its page; no secret.' }),
  kind: Type.Enum([...alertKindNames], {
    description:
      '`refresh_token_replayed`, `code_replayed`: what an app had used already came again, so that a copy may exist, and the grant was ended. `new_device`: a sign-in in a browser that was not known. `passkey_copied`: a passkey whose count went back, which was refused.',
  }),
  at: Time,
  app: nullable(
    Type.Object(
      { client_id: Type.String(), name: nullable(Type.String({ description: 'Null if it was deleted.' })) },
      { description: 'The app whose token it was.' },
    ),
  ),
  session_id: nullable(Type.String({ description: 'The session that it is about, or from which the grant came.' })),
  ...alertFacts,
  answer: nullable(Type.Enum([...alertAnswers], { description: 'What the user has said to it.' })),
  answered_at: nullable(Type.Integer({ description: 'Unix seconds.' })),
  answered_from: nullable(Type.String({ description: 'The IP address of the answer.' })),
});
export type AlertRecord = Static<typeof AlertRecord>;

/** Newest first, of the last 90 days; one of a kind that only a later version knows is left out. */
export async function listAlerts(deps: Deps, user_id: UserId): Promise<AlertRecord[]> {
  const alerts = await alertsOfUser(deps.db, user_id, now(deps));
  return (await Promise.all(alerts.map((alert) => recordOf(deps, alert)))).filter((one) => one !== undefined);
}

/** @throws {RequestError} `not_found` for one that is unknown, over, or another user's, and of a kind that only a later version knows. */
export async function requireAlertOfUser(deps: Deps, user_id: UserId, alert_id: string): Promise<AlertRecord> {
  const alert = await findAlert(deps.db, alert_id, { user_id }, now(deps));
  const record = alert && (await recordOf(deps, alert));
  if (!record) throw notFound();
  return record;
}

async function recordOf(deps: Pick<Deps, 'clients'>, alert: AlertRow): Promise<AlertRecord | undefined> {
  return isAlertKind(alert.kind) ? alertRecord(deps, { ...alert, kind: alert.kind }) : undefined;
}

async function alertRecord(
  { clients }: Pick<Deps, 'clients'>,
  {
    alert_id,
    kind,
    client_id,
    session_id,
    facts,
    created_at,
    answer,
    answered_at,
    answered_from,
  }: AlertRow & {
    kind: AlertKind;
  },
): Promise<AlertRecord> {
  const client = client_id === null ? undefined : await clients.find(client_id);
  const app = client_id === null ? null : { client_id, name: client ? nameForUsers(client) : null };
  return { alert_id, kind, at: created_at, app, session_id, ...facts, answer, answered_at, answered_from };
}
