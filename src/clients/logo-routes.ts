import type { FastifyInstance } from 'fastify';
import type { Deps } from '../platform/deps.ts';
import { notFound } from '../platform/errors.ts';
import { pictureHeaders, pictureReader } from '../platform/kept-pictures.ts';
import { logosPath } from '../platform/pages/initials.ts';
import { findLogoContent, findLogoType } from './logos.store.ts';
import { isLogoId } from './logos.ts';

/** The pictures of approved clients, for the pages of people. */
export async function logoRoutes(app: FastifyInstance, { db }: Deps) {
  const readLogo = pictureReader({
    findType: (picture_id) => findLogoType(db, picture_id),
    findContent: (picture_id) => findLogoContent(db, picture_id),
  });
  app.get<{ Params: { picture_id: string } }>(`${logosPath}/:picture_id`, async (request, reply) => {
    const { picture_id } = request.params;
    if (!isLogoId(picture_id)) throw notFound();
    const { media_type, content } = await readLogo(picture_id);
    return reply.headers(pictureHeaders).type(media_type).send(content);
  });
}
