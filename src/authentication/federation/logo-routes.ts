import type { FastifyInstance } from 'fastify';
import { notFound } from '../../platform/errors.ts';
import { pictureHeaders, pictureReader } from '../../platform/kept-pictures.ts';
import { findLogoContent, findLogoType } from '../credentials/providers.store.ts';
import { providerLogosPath } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';

/** The operator's own pictures on buttons, for who signs in. */
export async function providerLogoRoutes(app: FastifyInstance, { db }: Pick<Deps, 'db'>) {
  const read = pictureReader({
    findType: (logo_id) => findLogoType(db, logo_id),
    findContent: (logo_id) => findLogoContent(db, logo_id),
  });
  app.get<{ Params: { logo_id: string } }>(`${providerLogosPath}/:logo_id`, async (request, reply) => {
    const { logo_id } = request.params;
    if (!/^[0-9a-f]{32}$/.test(logo_id)) throw notFound();
    const { media_type, content } = await read(logo_id);
    return reply.headers(pictureHeaders).type(media_type).send(content);
  });
}
