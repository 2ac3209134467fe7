import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AttributeRegister, attributeRegister } from '../../attributes/register.ts';
import { accessToken, proofHeader } from '../../platform/http/access.ts';
import { form, type OperationDescription } from '../../platform/http/operation.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { publicDocument } from '../../platform/http/representations.ts';
import { Type } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';
import { findPresentedToken, tokenChallenge } from '../token/presented-token.ts';
import { discoveryDocument } from './discovery.ts';
import { Userinfo, userinfo } from './userinfo.ts';

/** What relying parties read: discovery, the key set, userinfo. */
export async function discoveryRoutes(app: FastifyInstance, deps: Deps) {
  const operation = readDiscovery(discoveryDocument(deps, attributeRegister([])));
  // From memory alone, as the key set is: a minute after an attribute was defined, its claim is among these on every node.
  let published: { of: AttributeRegister; document: ReturnType<typeof publicDocument> } | undefined;
  const discovery = () => {
    const known = deps.attributes.known();
    if (published?.of !== known) published = { of: known, document: publicDocument(discoveryDocument(deps, known)) };
    return published.document;
  };
  for (const [path, id] of [
    ['/.well-known/openid-configuration', operation.id],
    ['/.well-known/oauth-authorization-server', 'readServerMetadata'],
  ] as const) {
    app.serving.publish(app, path, { ...operation, id }, discovery);
  }

  // From memory alone, cacheable for five minutes (specification 4.2).
  app.serving.publish(app, '/.well-known/jwks.json', readKeySet, () => deps.keys.published);

  // OIDC Core §5.3.1 wants both methods.
  app.get('/oauth/userinfo', { config: { operation: readUserinfo, cors: true } }, (request, reply) =>
    answer(request, reply, undefined),
  );
  const posted: OperationDescription = {
    ...readUserinfo,
    id: 'readUserinfoByPost',
    body: { schema: form({ access_token: Type.Optional(tokenInForm) }), form: true, optional: true },
  };
  app.post('/oauth/userinfo', { config: { anySite: true, cors: true, operation: posted } }, (request, reply) =>
    answer(request, reply, request.body == null ? undefined : readForm(request.body).access_token),
  );

  async function answer(request: FastifyRequest, reply: FastifyReply, formToken: string | undefined) {
    const token = await findPresentedToken(deps, {
      method: request.method,
      url: request.url,
      headers: request.headers,
      formToken,
    });
    if (token) return userinfo(deps, token);
    return reply
      .code(401)
      .header('www-authenticate', tokenChallenge)
      .send({ error: 'invalid_token', error_description: 'An access token is required.' });
  }
}

const notes: Record<string, string> = {
  issuer: '`iss` of every token, character for character.',
  jwks_uri: 'URL of the keys that verify tokens.',
  authorization_response_iss_parameter_supported: 'Authorization responses contain `iss` (RFC 9207).',
};

/** Of the discovery document: each member is a URL, a list of names or a boolean. */
const schemaOf = (document: object) =>
  Type.Object(
    Object.fromEntries(
      Object.entries(document).map(([name, value]) => {
        const note = {
          description: notes[name] ?? 'As RFC 8414 section 2 or OpenID Connect Discovery 1.0 section 3 defines it.',
        };
        if (Array.isArray(value)) return [name, Type.Array(Type.String(), note)];
        return [name, typeof value === 'boolean' ? Type.Boolean(note) : Type.String({ format: 'uri', ...note })];
      }),
    ),
  );

const readDiscovery = (document: object): OperationDescription => ({
  id: 'readDiscovery',
  tag: 'OIDC',
  summary: 'Read the discovery document',
  description: 'OpenID Connect Discovery 1.0 and RFC 8414. May be cached for five minutes.',
  answers: { 200: { description: 'The discovery document.', schema: schemaOf(document), example: document } },
});

const readKeySet: OperationDescription = {
  id: 'readKeySet',
  tag: 'OIDC',
  summary: 'Read the public keys that tokens are verified with',
  description: 'The active key of each algorithm, the next one and, for 65 minutes after a rotation, the previous one.',
  answers: {
    200: {
      description: 'A JSON Web Key Set (RFC 7517).',
      schema: Type.Object({ keys: Type.Array(Type.Object({}), { description: 'JSON Web Keys.' }) }),
    },
  },
};

const tokenInForm = Type.String({ description: 'The access token, unless it is in the header (RFC 6750 §2.2).' });

const readUserinfo: OperationDescription = {
  id: 'readUserinfo',
  tag: 'OIDC',
  summary: 'Read the claims that the scope of an access token allows, as they are now',
  description:
    'Needs a token with the scope `openid`. `email` adds the address, `profile` name, picture and what else the user has entered, `entitlements:read` the entitlements.',
  access: accessToken,
  headers: proofHeader,
  answers: {
    200: {
      description: 'The current values: always `sub`, the others depending on the scope.',
      schema: Userinfo,
    },
  },
  refusals: ['invalid_request', 'invalid_token', 'insufficient_scope', 'invalid_dpop_proof', 'use_dpop_nonce'],
};
