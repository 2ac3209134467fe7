import assert from 'node:assert/strict';
import { readMetadata } from '../../src/clients/from-outside/read-metadata.ts';
import { registerFromOutside } from '../../src/clients/from-outside/register-from-outside.ts';
import { type DocumentServer, documentOf, internalAddresses } from './document-server.ts';
import { RegisteredClient, redirectedTo } from './relying-party.ts';
import type { Signet } from './signet.ts';
import type { TestUser } from './test-user.ts';

/** A server that reads metadata documents, those of this machine included. */
export const readsDocuments = { SIGNET_CLIENT_ID_METADATA: 'on', ...internalAddresses };
export const asJson = { accept: 'application/json' };

/** A client by the URL of its document, which the server gives. */
export function clientAt(
  signet: Signet,
  server: DocumentServer,
  client_id: string,
  changes: object = {},
  more: object = {},
) {
  const document = documentOf(client_id, changes);
  server.give(client_id, { body: document, ...more });
  return new RegisteredClient(signet, { client_id, client_secret: null, redirect_uri: document.redirect_uris[0]! });
}

export const authorize = (signet: Signet, client: RegisteredClient, changes = {}) =>
  signet.newBrowser().get(client.authorizePath(changes), asJson);

export const pathOf = (client_id: string, rest = '') => `/v1/admin/clients/${encodeURIComponent(client_id)}${rest}`;

/** What an administrator reads of it. */
export async function readBy(admin: TestUser, client_id: string) {
  const answer = await admin.browser.get(pathOf(client_id));
  assert.equal(answer.status, 200, answer.text);
  return answer.json as Record<string, unknown> & { revision: number; risks: { code: string; detail: string[] }[] };
}

/** Answers the consent page. @returns the code. */
export async function allow(user: TestUser, page: string): Promise<string> {
  const request = new URL(page, 'http://relative.invalid').searchParams.get('request')!;
  const answer = await user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
  return redirectedTo(await user.browser.get(answer.location!)).get('code') ?? assert.fail('no code');
}

export const approve = (admin: TestUser, client_id: string, body: object) =>
  admin.browser.postJson(pathOf(client_id, '/approve'), body);

/** A client as its document at that URL would have brought it. @returns its client_id. */
export async function bringClient({ deps }: Signet, client_id: string): Promise<string> {
  const wanted = readMetadata(documentOf(client_id), await deps.scopes.read(), client_id);
  await registerFromOutside(deps, { ...wanted, client_id, origin: 'metadata_document', address: '192.0.2.1' });
  return client_id;
}
