import { notFound } from './errors.ts';

/** Bytes of pictures that are kept in memory. */
const keptBytes = 16 * 1024 * 1024;

/** Sent with a picture that users chose: it is nothing but an image, and what is behind its address never changes. */
export const pictureHeaders = {
  'cache-control': 'private, max-age=31536000, immutable', // a shared cache would show it after its end
  'content-security-policy': "default-src 'none'; sandbox",
};

type Source = {
  /** Of one that is shown. Asked each time. */
  findType(picture_id: string): Promise<{ media_type: string } | undefined>;
  /** @returns base64. */
  findContent(picture_id: string): Promise<{ content: string } | undefined>;
};

/**
 * For anyone who has its address. Whether it is shown is asked each time. Its bytes never change, and all answers share them: a client
 * that asks a thousand times and reads nothing would else take a thousand copies of memory.
 */
export function pictureReader({ findType, findContent }: Source) {
  const kept = new Map<string, Buffer>();
  const loading = new Map<string, Promise<Buffer>>();
  let bytes = 0;

  async function load(picture_id: string): Promise<Buffer> {
    const found = await findContent(picture_id);
    if (!found) throw notFound(); // it was replaced this moment
    const content = Buffer.from(found.content, 'base64');
    kept.set(picture_id, content);
    bytes += content.length;
    for (const [oldest, { length }] of kept) {
      if (bytes <= keptBytes) break;
      kept.delete(oldest);
      bytes -= length;
    }
    return content;
  }

  function loadOnce(picture_id: string): Promise<Buffer> {
    const begun = loading.get(picture_id) ?? load(picture_id).finally(() => loading.delete(picture_id));
    loading.set(picture_id, begun);
    return begun;
  }

  /** @throws {RequestError} `not_found`, also for one that is no longer shown. */
  return async (picture_id: string): Promise<{ media_type: string; content: Buffer }> => {
    const found = await findType(picture_id);
    if (!found) throw notFound();
    return { media_type: found.media_type, content: kept.get(picture_id) ?? (await loadOnce(picture_id)) };
  };
}
