import type { Deps as ClientDeps } from '../../clients/deps.ts';
import type { DeliveryKind } from '../../deliveries/kind.ts';
import { openPoster, type Problem, unexpectedStatus } from '../../deliveries/poster.ts';
import { type DeliverySender, openDeliverySender } from '../../deliveries/sender.ts';
import { now } from '../../platform/clock.ts';
import {
  claimLogout,
  type DueLogoutDelivery,
  deleteSurplusLogouts,
  dueClients,
  dueLogouts,
  logoutDeliveries,
} from '../grants/logout-deliveries.store.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';

/** The one event of a logout token (Back-Channel Logout 1.0 §2.4). */
export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** A logout token is signed when it is sent, each time. */
const logoutTokenSeconds = 120;

type SendDeps = Pick<ClientDeps, 'db' | 'clock' | 'config' | 'log' | 'outbound' | 'tracer'> & { keys: KeyRing };

export const logoutKind: DeliveryKind<SendDeps, 'deliver logout tokens'> = {
  kind: 'logout',
  job: 'deliver logout tokens',
  queue: logoutDeliveries,
  open: openLogoutSender,
};

/** Posts logout tokens to the clients that took part in a session. */
function openLogoutSender(deps: SendDeps): DeliverySender {
  const post = openPoster(deps, 'logout');
  return openDeliverySender<DueLogoutDelivery>(deps, {
    kind: 'logout',
    targets: dueClients,
    due: dueLogouts,
    claim: claimLogout,
    async post(delivery) {
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        'cache-control': 'no-store',
        'user-agent': 'Signet-Logout/1',
      };
      const body = new URLSearchParams({ logout_token: await signLogoutToken(deps, delivery) }).toString();
      return post({ url: delivery.url, headers, body }, judge);
    },
    async delivered(part, delivery, at) {
      await logoutDeliveries.markDelivered(part, delivery.delivery_id, at);
      await deleteSurplusLogouts(part, delivery);
    },
    failed: (part, delivery, problem, nextAttemptAt) =>
      logoutDeliveries.markFailed(part, delivery, problem, nextAttemptAt),
    async giveUp(part, delivery, problem) {
      const { client_id, delivery_id } = delivery;
      await part.run(logoutDeliveries.markDead(delivery_id, problem, now(deps)));
      await deleteSurplusLogouts(part, delivery);
      deps.log.warn(
        { client_id, delivery_id, problem },
        'a logout token was not accepted; the owner of the client or an administrator can resend it',
      );
    },
  });
}

/** §2.8: 200, and 204 from frameworks that turn an empty 200 into it. 400 is a refusal of this very token, and 410 one of them all. */
function judge(status: number): Problem | undefined {
  if (status === 200 || status === 204) return undefined;
  return { ...unexpectedStatus(status), isFinal: status === 400 || status === 410 };
}

/** `jti` stays the same over all attempts, so that a client that has seen it can tell (§2.6). */
const signLogoutToken = (
  deps: SendDeps,
  { delivery_id, client_id, user_id, session_id, algorithm }: DueLogoutDelivery,
): Promise<string> =>
  deps.keys.sign(algorithm, 'logout+jwt', {
    iss: deps.config.baseUrl,
    sub: user_id,
    aud: client_id,
    iat: now(deps),
    exp: now(deps) + logoutTokenSeconds,
    jti: delivery_id,
    sid: session_id,
    events: { [logoutEvent]: {} },
  });
