import type { FastifyInstance } from 'fastify';
import { invalidRequest, notFound } from '../../platform/errors.ts';
import { form, type OperationDescription } from '../../platform/http/operation.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { Type } from '../../platform/schema.ts';
import type { Provider } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';
import { openUpstreams } from '../federation/upstream.ts';
import { takeLogoutToken } from './backchannel-logout.ts';
import { TokenRefused } from './provider-token.ts';
import { openPublishedKeys } from './published-keys.ts';
import { receiving, refusalOf } from './receipts.ts';

type ProviderRoute = { Params: { provider: string } };

/** What providers report of sessions there, which ends those that rest on them. */
export async function upstreamEventRoutes(app: FastifyInstance, deps: Deps) {
  const keys = openPublishedKeys(deps, openUpstreams(deps));

  app.post<ProviderRoute>(
    '/auth/:provider/backchannel-logout',
    { config: { anySite: true, operation: backchannelLogout } }, // a signature authenticates here, and no cookie
    async (request, reply) => {
      const provider = await requireProvider(deps, request.params.provider);
      const { logout_token } = readForm(request.body, ['logout_token']);
      if (logout_token === undefined) throw invalidRequest('logout_token is missing.');
      try {
        await receiving(deps, { provider, kind: 'logout', address: request.ip }, () =>
          takeLogoutToken(deps, keys, provider, logout_token),
        );
      } catch (error) {
        throw error instanceof TokenRefused ? refusalOf(error) : error;
      }
      return reply.code(200).send();
    },
  );
}

async function requireProvider({ providers }: Pick<Deps, 'providers'>, id: string): Promise<Provider> {
  const provider = (await providers.read()).find(id);
  if (!provider) throw notFound();
  return provider;
}

const backchannelLogout: OperationDescription = {
  id: 'backchannelLogout',
  tag: 'Federated',
  summary: 'Sign users out who were signed out at a provider (Back-Channel Logout)',
  description:
    'For providers alone. The sessions that began with the session at the provider, or with all of the account there, end with their grants. ' +
    'The same token again changes nothing.',
  parameters: { provider: { description: '`id` of a configured provider.' } },
  body: {
    form: true,
    schema: form({
      logout_token: Type.String({
        description:
          'Signed by a key that the provider publishes: `iss`, `aud` with our client_id there, `iat`, `exp`, `jti`, `events`, and `sub`, `sid` or both; no `nonce`.',
      }),
    }),
    example: { logout_token: 'eyJhbGciOiJSUzI1NiIsInR5cCI6ImxvZ291dCtqd3QiLCJraWQiOiJrMSJ9.eyJpc3MiOiJodHRwcyJ9.c2ln' },
  },
  answers: { 200: { description: 'They have ended, or there were none.' } },
  refusals: ['invalid_request', 'not_found', 'rate_limited', 'upstream_failed'],
};
