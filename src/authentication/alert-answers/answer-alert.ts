import { maxMailsAboutRevocations, mayMailAbout } from '../../accounts/mail-limits.ts';
import { endLinksGivenElsewhere, hasInvitedAdministrator } from '../../accounts/statements.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { accessDenied, notFound } from '../../platform/errors.ts';
import { findRefusal } from '../../platform/mail/refusals.ts';
import { isAlertKind, natureOf } from '../alerts/kinds.ts';
import { type AlertAnswer, type AlertRow, answerAlert as answering, findAlert } from '../alerts/store.ts';
import { passwordOf, removePassword } from '../credentials/passwords.store.ts';
import type { RevocationDeps } from '../deps.ts';
import { endPasswordAccess, invitationsForMail } from '../passwords/change-password.ts';
import { changeOwnAccount, rotateSessionSecret, type SignedIn } from '../sessions/session.ts';

/** `token`: the new secret of the session. `asksForPassword`: the account has none any more, and one is to be chosen now. */
export type Answered = { alert: AlertRow; token?: string; asksForPassword: boolean };

/**
 * What a user says about something that happened with their account. "That was me" is noted, and changes nothing else: who it was, and
 * holds a session, may say so as well. "Not me" ends all access but this session, which has shown every factor just now, and takes the
 * password away, so that who knows it has nothing, and its owner chooses another. Where no mail works, or none is accepted for
 * the address, it stays: only a link by mail helps who loses this session.
 * Each is said once; "not me" may follow "that was me".
 * @throws {RequestError} `not_found` for an alert that is unknown, over, or another user's, all alike; `access_denied` if a session vouches
 * for itself; `login_required`, `reauthentication_required` if it has changed meanwhile.
 */
export async function answerAlert(
  deps: RevocationDeps,
  user: SignedIn,
  { alert_id, answer }: { alert_id: string; answer: AlertAnswer },
): Promise<Answered> {
  const alert = await requireAlert(deps, user, alert_id);
  if (alert.answer === answer || alert.answer === 'not_me') return { alert, asksForPassword: false };
  return answer === 'me' ? recognize(deps, user, alert) : deny(deps, user, alert);
}

export async function requireAlert(
  deps: Pick<RevocationDeps, 'db' | 'clock'>,
  { session: { user_id } }: Pick<SignedIn, 'session'>,
  alert_id: string,
): Promise<AlertRow> {
  const alert = await findAlert(deps.db, alert_id, { user_id }, now(deps));
  if (!alert) throw notFound();
  return alert;
}

/** Whether it is about the session itself, which cannot vouch for itself. */
export const isAboutSession = (
  { kind, session_id }: Pick<AlertRow, 'kind' | 'session_id'>,
  { session }: Pick<SignedIn, 'session'>,
): boolean => isAlertKind(kind) && natureOf(kind).isOfSession && session_id === session.session_id;

const answered = (alert: AlertRow, answer: AlertAnswer, at: number, address: string) => ({
  statement: mustChange(answering(alert.alert_id, answer, { at, address })),
  alert: { ...alert, answer, answered_at: at, answered_from: address },
});

/** Whether "not me" takes a password away: it is there, and a link by mail would lead back to who leaves before choosing another. */
export const losesPassword = async (
  { db, mail }: Pick<RevocationDeps, 'db' | 'mail'>,
  { user_id, email }: { user_id: string; email: string },
): Promise<boolean> =>
  mail.works && (await passwordOf(db, user_id)) !== undefined && (await findRefusal({ db }, email)) === undefined;

async function recognize(deps: RevocationDeps, user: SignedIn, alert: AlertRow): Promise<Answered> {
  if (isAboutSession(alert, user)) throw accessDenied('A session cannot vouch for itself: answer in another browser.');
  const said = answered(alert, 'me', now(deps), user.caller.address);
  const failed = await changeOwnAccount(deps, user, {
    action: 'security_alert.recognized',
    after: { alert_id: alert.alert_id, kind: alert.kind },
    run: { answer: said.statement },
  });
  return { alert: failed ? await requireAlert(deps, user, alert.alert_id) : said.alert, asksForPassword: false };
}

async function deny(deps: RevocationDeps, user: SignedIn, alert: AlertRow): Promise<Answered> {
  const { session, caller } = user;
  const { user_id, session_id } = session;
  const at = now(deps);
  const said = answered(alert, 'not_me', at, caller.address);
  const removesPassword = await losesPassword(deps, session);
  const sendsMail = await mayMailAbout(deps, 'alert-denied', user_id, maxMailsAboutRevocations);
  const invitations = invitationsForMail(await hasInvitedAdministrator(deps.db, user_id, at));
  const rotation = rotateSessionSecret(session);
  await endLinksGivenElsewhere(deps.db, user_id);
  const failed = await changeOwnAccount(deps, user, {
    action: 'security_alert.denied',
    after: { alert_id: alert.alert_id, kind: alert.kind, password_removed: removesPassword },
    mail: sendsMail ? 'alert_denied' : undefined,
    values: { ...invitations, has_password: removesPassword ? 'yes' : 'no' },
    run: {
      answer: said.statement,
      session: rotation.statement,
      password: removesPassword ? removePassword(user_id) : undefined,
      access: endPasswordAccess(deps, session, session_id),
    },
  });
  if (failed) return { alert: await requireAlert(deps, user, alert.alert_id), asksForPassword: false };
  return { alert: said.alert, token: rotation.token, asksForPassword: removesPassword };
}
