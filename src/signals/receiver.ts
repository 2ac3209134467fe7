import { authenticateService } from '../entitlements/service-credentials/authenticate-service.ts';
import { isCredentialId } from '../entitlements/service-credentials/service-credential.ts';
import { authenticateClient } from '../oauth/client-authentication/authenticate-client.ts';
import { parseJws } from '../oauth/client-keys/jws.ts';
import type { Deps } from '../oauth/deps.ts';
import { invalidClient } from '../platform/errors.ts';
import { type Access, clientSecret, readBasic, serviceCredential } from '../platform/http/access.ts';
import type { Receiver } from './manage-stream.ts';

const permission = 'signals:manage';

/**
 * A service credential with the permission, for signals about all users, or an approved confidential client, for those about its own. Either
 * sends its ID and secret, by HTTP Basic or as `Bearer ID.SECRET`; a client with a key sends as the bearer token what is `client_assertion`
 * elsewhere, since these requests have no form.
 */
export const receiver: Access<Deps, { by: Receiver }> = {
  ...serviceCredential(permission),
  description: `A service credential needs the permission \`${permission}\`. An approved client with a secret or a key has a stream about its own users.`,
  alternatives: [clientSecret],
  refusals: ['invalid_client', 'access_denied', 'rate_limited'],
  async authenticate(deps, request) {
    const { headers, ip: address } = request;
    const { authorization, 'user-agent': userAgent } = headers;
    const shown = readShown(authorization);
    if ('assertion' in shown) {
      // It is asked before the body is read and after it, and what a client has signed is good for one time.
      const asked = request.requester as { by: Receiver } | undefined;
      if (asked) return asked;
      const form = { client_assertion_type: assertionType, client_assertion: shown.assertion };
      return { by: await client(deps, { authorization: undefined, form, address, userAgent }) };
    }
    const { client_id, client_secret } = shown;
    if (!isCredentialId(client_id)) {
      const basic = Buffer.from(`${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`);
      const request = { authorization: `Basic ${basic.toString('base64')}`, form: {}, address, userAgent };
      return { by: await client(deps, request) };
    }
    const { credential_id } = await authenticateService(deps, { client_id, client_secret, address }, permission);
    return {
      by: { id: credential_id, client_id: null, caller: { actor: `service:${credential_id}`, address } },
    };
  },
};

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

async function client(deps: Deps, request: Parameters<typeof authenticateClient>[1]): Promise<Receiver> {
  const { client_id } = await authenticateClient(deps, request, 'signals');
  return { id: client_id, client_id, caller: { actor: `client:${client_id}`, address: request.address } };
}

/** @throws {RequestError} `invalid_client`. */
function readShown(
  authorization: string | undefined,
): { assertion: string } | { client_id: string; client_secret: string } {
  const token = /^bearer +(\S{1,8192})$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) return readBasic(authorization);
  if (parseJws(token)) return { assertion: token };
  const [, client_id, client_secret] = /^([\w.-]{1,100})\.([\w-]{1,200})$/.exec(token) ?? [];
  if (client_id === undefined || client_secret === undefined) throw invalidClient('not ID.SECRET');
  return { client_id, client_secret };
}
