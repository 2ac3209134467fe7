import type { FastifyInstance } from 'fastify';
import { findPicture, findPictureType } from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { requireFirstFactor, signedIn } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { unavailable } from '../../platform/errors.ts';
import { acceptFiles, fileIn } from '../../platform/http/form-with-file.ts';
import { addOperations, inCode, operation } from '../../platform/http/operation.ts';
import { pictureHeaders, pictureReader } from '../../platform/kept-pictures.ts';
import { picturesPath } from '../../platform/pages/initials.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { maxPictureKb, maxPictureSide } from '../../platform/picture-files.ts';
import { Type } from '../../platform/schema.ts';
import { profilePage } from '../profile/page.ts';
import { changeProfile } from '../profile/profile.ts';
import { setPicture } from './picture.ts';
import { uploadPlaces } from './upload-places.ts';

/** Four thirds of a file in base64, and what surrounds it in JSON or in a form of several parts. */
const bodyKb = Math.ceil((maxPictureKb * 4) / 3) + 4;

const setOwnPicture = operation({
  id: 'setPicture',
  tag: 'Account',
  access: signedIn,
  method: 'PUT',
  path: '/v1/me/picture',
  summary: 'Upload your picture',
  description: `A PNG, JPEG or WebP file of at most ${maxPictureKb} KB and ${maxPictureSide} pixels a side, recognized by its bytes. Metadata is removed, except a color profile of up to 4 KB. \`PATCH /v1/me\` with \`picture: null\` removes it.`,
  body: Type.Object(
    {
      content: Type.String({
        description: 'The file in base64.',
        ...inCode({ contentEncoding: 'base64', maxLength: Math.ceil((maxPictureKb * 1024) / 3) * 4 }),
      }),
    },
    { additionalProperties: false },
  ),
  example: {
    content: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  },
  answer: { description: 'Its URL, which anyone may read.', schema: Type.Object({ picture: Type.String() }) },
  refusals: ['rate_limited'],
  run: (deps: Deps, { session, caller, body }) =>
    setPicture(deps, session.user_id, Buffer.from(body.content, 'base64'), caller),
});

/** Bodies of this size are read only for users who are signed in, and not of any number at a time. */
function limitUploads(uploads: FastifyInstance, deps: Deps): void {
  const takePlace = uploadPlaces();
  uploads.addHook('onRequest', async (request, reply) => {
    const { user_id } = await requireFirstFactor(deps, request);
    if (reply.raw.destroyed) return; // closed meanwhile: there would be no second event to count it out
    const giveBack = takePlace(user_id, request.ip);
    if (giveBack === undefined) throw unavailable();
    reply.raw.once('close', giveBack);
  });
}

/** The picture of a user: uploaded by its user, and read by anyone who has its URL. */
export async function pictureRoutes(app: FastifyInstance, deps: Deps) {
  const readPicture = pictureReader({
    findType: (picture_id) => findPictureType(deps.db, picture_id),
    findContent: (picture_id) => findPicture(deps.db, picture_id),
  });
  app.get<{ Params: { picture_id: string } }>(`${picturesPath}/:picture_id`, async (request, reply) => {
    const { media_type, content } = await readPicture(request.params.picture_id);
    return reply
      .headers({
        ...pictureHeaders,
        'cross-origin-resource-policy': 'cross-origin', // apps show it
      })
      .type(media_type)
      .send(content);
  });

  // Larger bodies, and those of several parts, are read for these routes alone.
  await app.register(async (uploads) => {
    uploads.addHook('onRoute', (route) => {
      route.bodyLimit = Math.max(bodyKb, deps.config.limits.bodyKb) * 1024;
    });
    limitUploads(uploads, deps);
    acceptFiles(uploads);
    addOperations(uploads, deps, [setOwnPicture]);

    const pages = pagesFor(uploads, deps, signedIn);
    pages.post('/account/picture', {
      page: '/account',
      async act({ session, caller, request: { body } }) {
        const { isChanged } = await setPicture(deps, session.user_id, fileIn(body), caller);
        return `/account?done=${isChanged ? 'picture' : 'unchanged'}`;
      },
      redraw: async ({ view, session }, { refusal: { problems } }) =>
        profilePage(view, {
          session,
          user: await requireUser(deps, session.user_id),
          attributes: (await deps.attributes.read()).all,
          problems,
        }),
    });
    pages.post('/account/picture/remove', {
      page: '/account',
      async act({ session, caller }) {
        const isChanged = await changeProfile(deps, session, { picture: null }, caller);
        return `/account?done=${isChanged ? 'picture_removed' : 'unchanged'}`;
      },
    });
  });
}
