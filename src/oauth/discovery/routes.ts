import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidRequest } from '../../platform/errors.ts';
import { bearerToken, isBearer } from '../../platform/http/bearer.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { publicDocument, sendPublicDocument } from '../../platform/http/public-document.ts';
import type { Deps } from '../deps.ts';
import { userinfo } from '../userinfo/userinfo.ts';
import { discoveryDocument } from './discovery.ts';
import { readDiscovery, readUserinfo } from './operations.ts';

export async function oidcRoutes(app: FastifyInstance, deps: Deps) {
  const discovery = publicDocument(discoveryDocument(deps.config));
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
    app.get(path, { config: { operation: readDiscovery } }, async (request, reply) =>
      sendPublicDocument(request, reply, discovery),
    );
  }

  // OIDC Core §5.3.1 wants both methods.
  app.get('/oauth/userinfo', { config: { operation: readUserinfo } }, (request, reply) =>
    answer(request, reply, deps, undefined),
  );
  app.post('/oauth/userinfo', { config: { anySite: true, operation: readUserinfo } }, (request, reply) =>
    answer(
      request,
      reply,
      deps,
      request.body === undefined || request.body === null ? undefined : readForm(request.body).access_token,
    ),
  );
}

async function answer(request: FastifyRequest, reply: FastifyReply, deps: Deps, formToken: string | undefined) {
  const token = accessToken(request.headers.authorization, formToken);
  if (token !== undefined) return userinfo(deps, token);
  // A request without credentials learns how to bring some, not what was wrong with them (RFC 6750 §3.1).
  return reply
    .code(401)
    .header('www-authenticate', 'Bearer')
    .send({ error: 'invalid_token', error_description: 'An access token is needed.' });
}

/** From the header or the form body, never both and never the URL (OAuth 2.1 §5.1). */
function accessToken(authorization: string | undefined, formToken: string | undefined): string | undefined {
  if (!isBearer(authorization)) return formToken;
  if (formToken !== undefined) throw invalidRequest('The access token was sent twice. Send it in one way.');
  return bearerToken(authorization);
}
