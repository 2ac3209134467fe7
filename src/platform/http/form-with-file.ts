import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidRequest } from '../errors.ts';
import { refuseFormForJson } from './body-parsers.ts';
import { FormText } from './parameters.ts';

/** A form with a file in its field `content`, which is read whole: it is small. */
export class FormWithFile extends FormText {
  readonly file: Buffer;
  constructor(text: string, file: Buffer) {
    super(text);
    this.file = file;
  }
}

/** @returns the file of a form; an empty one if it has none. */
export const fileIn = (body: unknown): Buffer => (body instanceof FormWithFile ? body.file : Buffer.alloc(0));

async function readFormWithFile(type: string | undefined, body: Buffer): Promise<FormWithFile> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type ?? '' } })
    .formData()
    .catch((error: unknown) => {
      throw invalidRequest('The body is not valid multipart/form-data.', error);
    });
  const fields = new URLSearchParams();
  let file = Buffer.alloc(0);
  for (const [name, value] of form) {
    if (typeof value === 'string') fields.append(name, value);
    else if (name === 'content') file = Buffer.from(await value.arrayBuffer());
  }
  return new FormWithFile(`${fields}`, file);
}

/** The routes that are added to it read forms with a file, too; no other ones do. */
export function acceptFiles(app: FastifyInstance): void {
  app.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      refuseFormForJson(request);
      return readFormWithFile(request.headers['content-type'], body);
    },
  );
}
