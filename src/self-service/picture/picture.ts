import { findPictureOf, insertPicture, lockUser, setProfile } from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { fieldProblem, invalidFields } from '../../platform/errors.ts';
import { newIdOf } from '../../platform/ids.ts';
import { pictureOf, picturesPath } from '../../platform/pages/initials.ts';
import { maxPictureKb, maxPictureSide, readPicture } from '../../platform/picture-files.ts';
import { limitProfileChanges } from '../profile/profile.ts';

/**
 * Keeps a picture of a user, in place of the one before, and makes its URL their `picture`. The URL has a new random ID each
 * time, so what is behind it never changes, and it cannot be guessed.
 * @param file as it was sent; its metadata is not kept. The one that the user shows already is left as it is.
 * @throws {RequestError} `invalid_request` for what is no picture, or too large; `rate_limited`.
 */
export async function setPicture(
  deps: LimitDeps,
  user_id: string,
  file: Buffer,
  caller: Caller,
): Promise<{ picture: string; isChanged: boolean }> {
  const values = { kb: maxPictureKb, side: maxPictureSide };
  const refuse = (key: 'missing' | 'size' | 'type' | 'side') =>
    invalidFields([fieldProblem('content', { key: `problem.picture.${key}`, values })]);
  if (file.length === 0) throw refuse('missing');
  if (file.length > maxPictureKb * 1024) throw refuse('size');
  const found = readPicture(file);
  if (found === undefined) throw refuse('type');
  const { media_type, width, height, content } = found;
  if (Math.min(width, height) < 1 || Math.max(width, height) > maxPictureSide) throw refuse('side');
  const encoded = content.toString('base64');
  const [user, kept] = await Promise.all([requireUser(deps, user_id), findPictureOf(deps.db, user_id)]);
  const shown = user.picture;
  if (shown !== null && kept?.content === encoded && pictureOf(deps.config.baseUrl, user) !== undefined) {
    return { picture: shown, isChanged: false };
  }
  await limitProfileChanges(deps, user_id);
  const at = now(deps);
  const picture_id = newIdOf(user_id, 'pic');
  const picture = `${deps.config.baseUrl}${picturesPath}/${picture_id}`;
  const event = { action: 'user.changed', ...caller, target: user_id, after: { fields: ['picture'] } } as const;
  await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    run: {
      file: insertPicture({ picture_id, user_id, media_type, content: encoded }, at),
      profile: setProfile(user_id, { picture }, at),
      event: auditEvent(event, at).statement,
    },
  });
  return { picture, isChanged: true };
}
