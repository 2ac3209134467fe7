import assert from 'node:assert/strict';
import { type Answer, ask } from './browser.ts';
import type { Signet } from './signet.ts';

type Sent = { headers?: Record<string, string>; type?: string };

export type Directory = {
  client_id: string;
  /** As Entra ID sends it. */
  token: string;
  send(method: string, path: string, body?: unknown, sent?: Sent): Promise<Answer>;
  /** Expects a status, and gives the resource. */
  ok(status: number, method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
};

/** A directory that provisions by a credential of its own. */
export async function newDirectory(
  signet: Signet,
  permissions: readonly string[] = ['scim:write'],
): Promise<Directory> {
  const { client_id, client_secret } = await signet.newService({
    permissions,
    products: ['editor'],
    expires_in_days: 30,
  });
  const token = `${client_id}.${client_secret}`;
  const send: Directory['send'] = (method, path, body, { headers = {}, type = 'application/scim+json' } = {}) =>
    ask(`${signet.url}/scim/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    client_id,
    token,
    send,
    async ok(status, ...asked) {
      const answer = await send(...asked);
      assert.equal(answer.status, status, `${asked.slice(0, 2).join(' ')}: ${answer.status} ${answer.text}`);
      return answer.json ?? {};
    },
  };
}

/** A refusal in the words of RFC 7644 §3.12. */
export function assertScimError(answer: Answer, status: number, scimType?: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/scim\+json/);
  const { schemas, status: written, scimType: type, detail } = answer.json ?? {};
  assert.deepEqual(schemas, ['urn:ietf:params:scim:api:messages:2.0:Error']);
  assert.equal(written, String(status));
  assert.equal(type, scimType, answer.text);
  assert.ok(typeof detail === 'string' && detail.length > 5);
}

export const userSchemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
export const groupSchemas = ['urn:ietf:params:scim:schemas:core:2.0:Group'];
export const patchOf = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
});

let count = 0;
/** A user as a directory would send one, with a name that no other has. */
export function aUser(more: object = {}) {
  count += 1;
  const userName = `scim${count}@example.com`;
  return { schemas: userSchemas, userName, emails: [{ value: userName, type: 'work', primary: true }], ...more };
}
