import { createCredential } from '../../src/entitlements/service-credentials/manage-credential.ts';
import { ask } from './browser.ts';
import { basic } from './relying-party.ts';
import type { Signet } from './signet.ts';
import type { TestUser } from './test-user.ts';

export type Service = { client_id: string; client_secret: string; authorization: string };

export type ServiceOptions = {
  permissions?: readonly string[];
  products?: readonly string[];
  api_id?: string;
  addresses?: readonly string[];
  expires_in_days?: number;
  /** Who makes it, instead of the operator. */
  by?: TestUser;
};

export async function newService(
  signet: Signet,
  { permissions = ['entitlements:write'], products = ['editor'], by, ...restrictions }: ServiceOptions = {},
): Promise<Service> {
  const { credential, client_secret } = await createCredential(
    signet.deps,
    { actor: by ? `user:${by.user_id}` : 'cli' },
    { name: 'Billing', permissions, products, ...restrictions },
  );
  const client_id = credential.credential_id;
  return { client_id, client_secret, authorization: basic(client_id, client_secret) };
}

export type Write = Record<string, unknown>;

export const writeOf = (user_id: string, more: Write = {}): Write => ({
  user_id,
  product: 'editor',
  plan: 'pro',
  status: 'active',
  source: 'billing',
  version: 1,
  ...more,
});

export async function postEntitlement(signet: Pick<Signet, 'url'>, authorization: string | undefined, body: unknown) {
  const {
    status,
    headers,
    json = {},
  } = await ask(`${signet.url}/v1/entitlements`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization ? { authorization } : {}) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status, headers, json };
}
