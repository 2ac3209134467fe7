import type { Session } from '../../authentication/statements.ts';
import type { Client } from '../../clients/client.ts';
import { closestMatch, type Failure, failuresPathOf } from '../../clients/failures.ts';
import { now } from '../../platform/clock.ts';
import { invalidRequest, RequestError } from '../../platform/errors.ts';
import { parseParameters } from '../../platform/http/parameters.ts';
import type { MessageDescriptor } from '../../platform/i18n/translate.ts';
import type { ClientId, SessionId, UserId } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import { undefinedIfInvalid } from '../signing-keys/key-ring.ts';

/** What of a logout request has passed every check (RP-Initiated Logout 1.0 §2). */
export type LogoutRequest = {
  client_id?: ClientId;
  /** Registered by that client. */
  post_logout_redirect_uri?: string;
  state?: string;
  ui_locales?: string;
  /** Of a genuine `id_token_hint`: whose session is to end. */
  session?: { session_id: SessionId; user_id: UserId };
};

type CheckDeps = Pick<Deps, 'clients' | 'clientFailures' | 'keys'>;

const parameters = [
  'id_token_hint',
  'client_id',
  'post_logout_redirect_uri',
  'state',
  'ui_locales',
  'logout_hint',
] as const;

/** Bytes. It is returned to the client. */
const longestState = 2048;

/** Every refusal links to the question of whether to sign out: what the app got wrong does not keep its user signed in. */
const refuse = (
  description: string,
  userMessage: MessageDescriptor,
  { code = 'invalid_request', client }: { code?: RequestError['code']; client?: Client } = {},
) =>
  new RequestError(code, description, {
    userMessage,
    title: { key: 'error.not_signed_out' },
    exit: { path: '/oauth/logout', label: 'logout.sign_out' },
    developerPath: client && failuresPathOf(client),
  });

/**
 * Until client and post_logout_redirect_uri are known, a refusal is a page and never a redirect. A hint that cannot be
 * verified is left out, and with it a post_logout_redirect_uri for which no other parameter names the client (RP-Initiated
 * Logout 1.0 §4); such a request names no session, so the user is asked.
 * @param text of the query or of the form.
 * @param address of the requester.
 * @throws {RequestError} `invalid_request` naming the parameter; `unauthorized_client`.
 */
export async function readLogoutRequest(deps: CheckDeps, text: string, address: string): Promise<LogoutRequest> {
  const { values, repeated } = parseParameters(text);
  const hint = values.id_token_hint === undefined ? undefined : await readHint(deps, values.id_token_hint);
  const client_id = values.client_id ?? hint?.client_id;
  // Only for a client that exists: what an attacker makes up instead of one would be remembered, and looked for by a write.
  const note = async (failure: Failure) => {
    const named = await deps.clients.find(client_id ?? audienceOf(values.id_token_hint) ?? '');
    if (named) deps.clientFailures.record({ client_id: named.client_id, stage: 'logout', address }, failure);
  };
  const twice = parameters.find((name) => repeated.has(name));
  if (twice !== undefined) {
    const description = `${twice} was sent more than once.`;
    await note({ code: 'request', detail: () => ({ description }) });
    throw refuse(description, { key: 'logout.repeated' });
  }
  const isUnverified = values.id_token_hint !== undefined && hint === undefined;
  if (isUnverified) await note({ code: 'id_token_hint' });
  if (hint && values.client_id !== undefined && values.client_id !== hint.client_id) {
    await note({ code: 'id_token_hint' });
    throw refuse('client_id is not the client that id_token_hint was issued to: its aud.', { key: 'logout.hint' });
  }
  if (Buffer.byteLength(values.state ?? '') > longestState) {
    const description = `state can have at most ${longestState} bytes.`;
    await note({ code: 'request', detail: () => ({ description }) });
    throw refuse(description, { key: 'logout.state' });
  }
  const request: LogoutRequest = {
    client_id,
    post_logout_redirect_uri: isUnverified && client_id === undefined ? undefined : values.post_logout_redirect_uri,
    state: values.state,
    ui_locales: values.ui_locales?.slice(0, 100),
    session: hint?.session,
  };
  await checkClient(deps, request, address);
  return request;
}

/** @returns undefined for anything but an id token of ours; it may have expired (RP-Initiated Logout 1.0 §4). */
async function readHint({ keys }: Pick<Deps, 'keys'>, id_token_hint: string) {
  const claims = await undefinedIfInvalid(keys.verify('JWT', id_token_hint));
  if (!claims) return undefined;
  const { aud, sub, sid } = claims;
  if (typeof aud !== 'string' || typeof sub !== 'string' || typeof sid !== 'string') return undefined;
  return { client_id: aud, session: { session_id: sid, user_id: sub } };
}

/** The `aud` of a hint that is not ours, unverified: only for the diagnosis that the owner of that client reads. */
function audienceOf(id_token_hint = ''): string | undefined {
  try {
    const { aud } = JSON.parse(Buffer.from(id_token_hint.split('.')[1] ?? '', 'base64url').toString());
    return typeof aud === 'string' ? aud : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Also when the user has answered: meanwhile the client may have been suspended, its URI removed.
 * @returns the client, if the request names one.
 * @throws {RequestError} as {@link readLogoutRequest}.
 */
export async function checkClient(
  deps: Pick<Deps, 'clients' | 'clientFailures'>,
  { client_id, post_logout_redirect_uri: uri }: LogoutRequest,
  address: string,
): Promise<Client | undefined> {
  if (client_id === undefined) {
    if (uri === undefined) return undefined;
    throw refuse('post_logout_redirect_uri requires id_token_hint or client_id, which say whose it is.', {
      key: 'logout.client_missing',
    });
  }
  const client = await deps.clients.find(client_id);
  if (!client) throw refuse('client_id does not name a registered client.', { key: 'logout.client_unknown' });
  const note = (failure: Failure) => deps.clientFailures.record({ client_id, stage: 'logout', address }, failure);
  if (uri !== undefined && !client.post_logout_redirect_uris.includes(uri)) {
    const registered = client.post_logout_redirect_uris;
    note({
      code: 'post_logout_redirect_uri_differs',
      detail: () => ({ sent: uri, registered: closestMatch(registered, uri) }),
    });
    throw refuse(
      'post_logout_redirect_uri does not match a registered post-logout redirect URI of this client, character for character.',
      { key: 'logout.redirect_uri' },
      { client },
    );
  }
  if (client.status !== 'approved') {
    note({ code: 'client_not_approved' });
    const description = 'This client is not approved, so it cannot sign users out.';
    throw refuse(description, { key: 'logout.not_approved' }, { code: 'unauthorized_client', client });
  }
  return client;
}

/** The hint is of the session that is here, so its client was part of it and may end it without a question. */
export const namesSession = ({ session: named }: LogoutRequest, { session_id, user_id }: Session): boolean =>
  named?.session_id === session_id && named.user_id === user_id;

/** Where the browser goes once its session has ended. */
export function returnTarget({ post_logout_redirect_uri: uri, state, ui_locales }: LogoutRequest): string {
  if (uri === undefined)
    return `/signed-out${ui_locales === undefined ? '' : `?${new URLSearchParams({ ui_locales })}`}`;
  if (state === undefined) return uri;
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams({ state })}`;
}

const purpose = 'logout-request';
const sealedSeconds = 600;

/**
 * The request for a URL or a form of ours. It is sealed, so that neither names the user, and no id token gets into another
 * URL. What it allows, the request that it was made from allowed too.
 */
export function sealRequest({ vault, clock }: Pick<Deps, 'vault' | 'clock'>, request: LogoutRequest): string {
  const sealed = vault.browser.seal(purpose, JSON.stringify({ request, expires_at: now({ clock }) + sealedSeconds }));
  if (sealed.length > 8000) throw invalidRequest('The parameters are too long together: at most some 5900 bytes.');
  return sealed;
}

/** @throws {RequestError} `invalid_request`, with a message for the user on how to start again. */
export function openRequest(
  { vault, clock }: Pick<Deps, 'vault' | 'clock'>,
  sealed: string | undefined,
): LogoutRequest {
  const opened = openSealed(vault, sealed ?? '');
  if (opened && opened.expires_at > now({ clock })) return opened.request;
  throw refuse('The request has expired or was altered. Start again.', { key: 'logout.over' });
}

function openSealed(vault: Deps['vault'], sealed: string): { request: LogoutRequest; expires_at: number } | undefined {
  try {
    return JSON.parse(vault.browser.open(purpose, sealed));
  } catch {
    return undefined;
  }
}
