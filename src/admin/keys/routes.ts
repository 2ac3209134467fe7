import type { FastifyInstance } from 'fastify';
import { administratorCaller } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { listKeys } from '../../oauth/signing-keys/list-keys.ts';
import { rotateNow } from '../../oauth/signing-keys/rotate-keys.ts';
import { readNoBody } from '../../platform/http/no-body.ts';
import { list, rotate } from './operations.ts';

/** The keys that sign tokens. */
export async function adminKeyRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/admin/keys', { config: { operation: list } }, async (request) => {
    await administratorCaller(deps, request);
    return { keys: await listKeys(deps) };
  });

  app.post('/v1/admin/keys/rotate', { config: { operation: rotate } }, async (request) => {
    const caller = await administratorCaller(deps, request);
    readNoBody(request.body);
    const rotated = await rotateNow(deps, caller);
    await deps.keys.refresh(); // its key set is out at once
    return { rotated, keys: await listKeys(deps) };
  });
}
