import type { FastifyInstance } from 'fastify';
import { invalidRequest, notFound } from '../../platform/errors.ts';
import { readTextAs } from '../../platform/http/body-parsers.ts';
import { form, type OperationDescription } from '../../platform/http/operation.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { Type } from '../../platform/schema.ts';
import type { Provider } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';
import { openUpstreams } from '../federation/upstream.ts';
import { takeLogoutToken } from './backchannel-logout.ts';
import { type TokenProblem, TokenRefused } from './provider-token.ts';
import { openPublishedKeys } from './published-keys.ts';
import { receiving, refusalOf } from './receipts.ts';
import { checkCredential, takeSignal } from './receive-signal.ts';

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

  await app.register(async (pushes) => {
    readTextAs(pushes, mediaType); // for this route alone
    pushes.post<ProviderRoute>(
      '/auth/:provider/signals',
      { config: { anySite: true, operation: receiveSignal } },
      async (request, reply) => {
        const { signals, ...provider } = await requireProvider(deps, request.params.provider);
        if (signals === undefined) throw notFound();
        const { body: token, ip: address, headers } = request;
        if (typeof token !== 'string') throw invalidRequest(`The body must be ${mediaType}.`);
        try {
          await receiving(deps, { provider, kind: 'signal', address }, async () => {
            checkCredential(signals, headers.authorization);
            return takeSignal(deps, keys, { ...provider, signals }, token);
          });
        } catch (error) {
          if (!(error instanceof TokenRefused) || error.problem === 'unreachable')
            throw error instanceof TokenRefused ? refusalOf(error) : error;
          if (error.problem === 'credential') reply.code(401).header('www-authenticate', 'Bearer');
          else reply.code(400);
          return reply.send({ err: errorOf(error.problem), description: error.message });
        }
        return reply.code(202).send();
      },
    );
  });
}

const mediaType = 'application/secevent+jwt';

/** RFC 8935 §2.4. */
const errorOf = (problem: TokenProblem): string => errors[problem] ?? 'invalid_request';
const errors: Partial<Record<TokenProblem, string>> = {
  key: 'invalid_key',
  signature: 'invalid_key',
  algorithm: 'invalid_key',
  issuer: 'invalid_issuer',
  audience: 'invalid_audience',
  credential: 'authentication_failed',
};
const Problem = Type.Object({
  err: Type.String({ description: 'A code of RFC 8935 section 2.4, such as `invalid_audience`.' }),
  description: Type.String({ description: 'What is wrong, in a sentence.' }),
});

const receiveSignal: OperationDescription = {
  id: 'receiveSignal',
  tag: 'Federated',
  summary: 'Take a security event of a provider (push, RFC 8935)',
  description:
    'For providers that have a secret for it, as a bearer token. `session-revoked` of CAEP, and `sessions-revoked`, `account-disabled` and `account-purged` ' +
    'of RISC, end the sessions that began with the account or the session there. Other events are taken, and have no effect.',
  parameters: { provider: { description: '`id` of a configured provider.' } },
  headers: { authorization: { description: '`Bearer`, and the secret that the provider was given for its events.' } },
  answers: {
    202: { description: 'Taken.' },
    400: { description: 'It is not a security event of this provider for this service.', schema: Problem },
    401: { description: 'The secret is missing or wrong.', schema: Problem },
  },
  refusals: ['not_found', 'rate_limited', 'upstream_failed'],
};

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
          'Signed by a key that the provider publishes: `iss`, `aud` with our client_id there, `iat`, `jti`, `events`, and `sub`, `sid` or both; `exp` if it has one, and no `nonce`.',
      }),
    }),
    example: { logout_token: 'eyJhbGciOiJSUzI1NiIsInR5cCI6ImxvZ291dCtqd3QiLCJraWQiOiJrMSJ9.eyJpc3MiOiJodHRwcyJ9.c2ln' },
  },
  answers: { 200: { description: 'They have ended, or there were none.' } },
  refusals: ['invalid_request', 'not_found', 'rate_limited', 'upstream_failed'],
};
