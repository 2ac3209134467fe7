import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { readNoBody } from '../../http/no-body.ts';
import { listKeys } from '../../keys/list-keys.ts';
import { rotateNow } from '../../keys/rotate-keys.ts';
import { administratorCaller } from '../../sessions/session.ts';
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
