import type { FastifyInstance } from 'fastify';
import { administratorCaller } from '../../authentication/sessions/session.ts';
import { allCredentials } from '../../entitlements/service-credentials/list-credentials.ts';
import {
  changeCredentialTerms,
  createCredential,
  findCredential,
  retire as retireCredential,
  rotateCredential,
} from '../../entitlements/service-credentials/manage-credential.ts';
import { credentialRecord } from '../../entitlements/service-credentials/service-credential.ts';
import type { Deps } from '../../oauth/deps.ts';
import { jsonBody } from '../../platform/http/json-body.ts';
import { readNoBody } from '../../platform/http/no-body.ts';
import { CreateBody, create, list, RestrictBody, RotateBody, restrict, retire, rotate } from './operations.ts';

type CredentialRoute = { Params: { client_id: string } };
const readCreation = jsonBody(CreateBody);
const readTerms = jsonBody(RestrictBody);
const readRotation = jsonBody(RotateBody);

/** Credentials of back ends, whose secrets are shown once. */
export async function adminServiceCredentialRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/admin/service-credentials', { config: { operation: list } }, async (request) => {
    await administratorCaller(deps, request);
    return { service_credentials: (await allCredentials(deps)).map(credentialRecord) };
  });

  app.post('/v1/admin/service-credentials', { config: { operation: create } }, async (request) => {
    const caller = await administratorCaller(deps, request);
    const { products = [], ...wanted } = readCreation(request.body);
    const { credential, client_secret } = await createCredential(deps, caller, { ...wanted, products });
    return { ...credentialRecord(credential), client_secret };
  });

  app.patch<CredentialRoute>(
    '/v1/admin/service-credentials/:client_id',
    { config: { operation: restrict } },
    async (request) => {
      const caller = await administratorCaller(deps, request);
      const { client_id } = request.params;
      const { products = [], permissions } = readTerms(request.body);
      await changeCredentialTerms(deps, caller, client_id, { permissions, products });
      return credentialRecord(await findCredential(deps, client_id));
    },
  );

  app.post<CredentialRoute>(
    '/v1/admin/service-credentials/:client_id/rotate',
    { config: { operation: rotate } },
    async (request) => {
      const caller = await administratorCaller(deps, request);
      const { overlap_seconds } = readRotation(request.body === undefined ? {} : request.body);
      const id = request.params.client_id;
      const { credential_id: client_id, ...rotated } = await rotateCredential(deps, caller, id, overlap_seconds);
      return { client_id, ...rotated };
    },
  );

  app.post<CredentialRoute>(
    '/v1/admin/service-credentials/:client_id/retire',
    { config: { operation: retire } },
    async (request) => {
      const caller = await administratorCaller(deps, request);
      readNoBody(request.body);
      const { client_id } = request.params;
      await retireCredential(deps, caller, client_id);
      return credentialRecord(await findCredential(deps, client_id));
    },
  );
}
