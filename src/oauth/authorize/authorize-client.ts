import type { ClientStatus } from '../../clients/choices.ts';
import { type Client, isClientId } from '../../clients/client.ts';
import { closestMatch, type Failure, failuresPathOf } from '../../clients/failures.ts';
import { originHostOf } from '../../clients/presentation.ts';
import { matchesRegistered } from '../../clients/redirect-uri.ts';
import { RequestError } from '../../platform/errors.ts';
import type { parseParameters } from '../../platform/http/parameters.ts';
import type { MessageDescriptor } from '../../platform/i18n/translate.ts';
import type { Deps } from '../deps.ts';
import { reviewRequestPath } from '../from-outside/review-request-page.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { ResponseTarget } from './parameters.ts';
import { otherMode, readRefusedObject } from './response-mode.ts';

type ClientDeps = Pick<Deps, 'clients' | 'clientFailures' | 'metadataDocuments'>;
type Parsed = ReturnType<typeof parseParameters>;

/** Why a client may not start a sign-in. */
const refusalByStatus = {
  pending_review: 'is pending review, so it cannot start a sign-in yet.',
  rejected: 'was rejected in review, so it cannot start a sign-in.',
  suspended: 'is suspended, so it cannot start a sign-in.',
} as const satisfies Record<Exclude<ClientStatus, 'approved'>, string>;

type Sent = Readonly<Record<string, string | undefined>>;

/** For the page, as far as it is what its parameter should be: what is not would be text that the link's author chose. */
const legible = ({ client_id = '', redirect_uri = '' }: Sent): Sent => ({
  client_id: isClientId(client_id) ? client_id : undefined,
  redirect_uri: URL.canParse(redirect_uri) ? redirect_uri : undefined,
});

/** `description` is for the developer of the client, `userMessage` for the user. */
const invalidLink = (
  { client_id, redirect_uri }: Sent,
  description: string,
  userMessage: MessageDescriptor,
  client?: Client,
) =>
  new RequestError('invalid_request', description, {
    userMessage,
    title: { key: 'error.app_misconfigured' },
    sent: legible({ client_id, redirect_uri }),
    developerPath: client && failuresPathOf(client),
  });
const missing = (sent: Sent, parameter: 'client_id' | 'redirect_uri', client?: Client) =>
  invalidLink(sent, `${parameter} is missing.`, { key: 'authorize.missing' }, client);

/**
 * First phase: the client and the redirect_uri. Until both are known, a refusal is a page and never a redirect, which
 * would make this an open redirector (OAuth 2.1 §7.13.2). That includes clients that were never reviewed.
 * @param address of the requester.
 * @param test_owner of a stored request; while the client is theirs, its redirect URI is ours and not registered.
 * @throws {RequestError} `invalid_request` naming the parameter; `unauthorized_client`.
 */
export async function authorizeClient(
  deps: ClientDeps,
  { values, repeated }: Parsed,
  address: string,
  test_owner?: string,
): Promise<{ client: Client; target: ResponseTarget }> {
  const { client_id, redirect_uri } = values;
  for (const parameter of ['client_id', 'redirect_uri']) {
    if (repeated.has(parameter))
      throw invalidLink({}, `${parameter} was sent more than once.`, { key: 'authorize.repeated' });
  }
  if (client_id === undefined) throw missing(values, 'client_id');
  const client = isClientId(client_id) ? await findOrDiscover(deps, client_id, address) : undefined;
  if (!client)
    throw invalidLink(values, 'client_id does not name a registered client.', { key: 'authorize.unknown_client' });
  const note = (failure: Failure) => {
    if (test_owner === undefined) deps.clientFailures.record({ client_id, stage: 'authorize', address }, failure);
  };
  if (redirect_uri === undefined) {
    note({ code: 'redirect_uri_missing' });
    throw missing(values, 'redirect_uri', client);
  }
  const isOwnTest = test_owner !== undefined && test_owner === client.owner_user_id;
  if (!isOwnTest && !matchesRegistered(client, redirect_uri)) {
    note({
      code: 'redirect_uri_differs',
      detail: () => ({ sent: redirect_uri, registered: closestMatch(client.redirect_uris, redirect_uri) }),
    });
    throw invalidLink(
      values,
      'redirect_uri does not match a registered redirect URI of this client, character for character.',
      { key: 'authorize.redirect_uri' },
      client,
    );
  }
  if (client.status !== 'approved') {
    note({ code: 'client_not_approved' });
    if (client.origin !== null && client.status === 'pending_review') throw waitsForReview(client, redirect_uri);
    // The messages name the client only where its name was reviewed: it may be a sentence.
    const userMessage = { key: `authorize.${client.status}`, values: { client: client.name } } as const;
    throw new RequestError('unauthorized_client', `This client ${refusalByStatus[client.status]}`, {
      userMessage,
      title: { key: client.status === 'suspended' ? 'error.app_suspended' : 'error.app_not_approved' },
      sent: legible({ client_id, redirect_uri }),
      developerPath: failuresPathOf(client),
    });
  }
  const object = values.request === undefined ? {} : readRefusedObject(values.request);
  const { state = object.state, response_mode = object.response_mode } = values;
  const target = {
    redirect_uri,
    state: repeated.has('state') ? undefined : state,
    response_mode: repeated.has('response_mode') ? undefined : otherMode(response_mode, redirect_uri),
  };
  return { client, target };
}

/** One that a metadata document describes becomes a client by its first request. @throws {RequestError} what is wrong with its document. */
export async function findOrDiscover(
  deps: ClientDeps,
  client_id: string,
  address: string,
): Promise<Client | undefined> {
  const client = await deps.clients.find(client_id);
  if (client === undefined) return deps.metadataDocuments.discover(client_id, address);
  deps.metadataDocuments.keepFresh(client);
  return client;
}

/** Of a client that came by itself, its user may ask for the review. */
function waitsForReview(client: Client, redirect_uri: string): RequestError {
  const { client_id, review_asked_at } = client;
  const isAsked = review_asked_at !== null;
  return new RequestError('unauthorized_client', `This client ${refusalByStatus.pending_review}`, {
    userMessage: {
      key: isAsked ? 'authorize.outside.asked' : 'authorize.outside',
      values: { host: originHostOf(client) ?? '' },
    },
    title: { key: 'error.app_waits' },
    sent: legible({ client_id, redirect_uri }),
    ...(!isAsked && { exit: { path: reviewRequestPath(client_id), label: 'outside.ask' } }),
  });
}

/** The first phase again, for a pending request: meanwhile its client may have been suspended, its redirect_uri removed. */
export const recheckClient = (
  deps: ClientDeps,
  { client_id, redirect_uri, test_owner }: AuthorizationRequest,
  address: string,
) =>
  authorizeClient(
    deps,
    { values: { client_id, redirect_uri }, repeated: new Set(), all: () => [] },
    address,
    test_owner,
  );
