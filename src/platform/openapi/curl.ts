import type { JsonSchema } from './describe-schema.ts';
import type { DescribedOperation } from './document.ts';

/** A command that can be pasted into a shell; what the reader has to put in stands in capitals. */
export function curlFor(
  method: string,
  path: string,
  operation: DescribedOperation,
  base: { url: string; sessionCookie: string },
): string {
  const address = base.url + path.replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name }) => `${name}=${name.toUpperCase()}`);
  const lines = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} ${quoted([address, query.join('&')].filter(Boolean).join('?'))}`,
    ...credentials(operation, base, method),
    ...body(operation),
  ];
  return lines.join(' \\\n  ');
}

function credentials({ security }: DescribedOperation, base: { url: string; sessionCookie: string }, method: string) {
  const schemes = security.flatMap((one) => Object.keys(one));
  if (schemes.includes('BearerAuth') && !schemes.includes('SessionCookie')) {
    return [`-H ${quoted('authorization: Bearer ACCESS_TOKEN')}`];
  }
  if (schemes.includes('BasicAuth')) return [`-u ${quoted('CLIENT_ID:CLIENT_SECRET')}`];
  if (!schemes.includes('SessionCookie')) return [];
  // A write with a cookie has to come from our own pages, or from no page at all.
  const origin = method === 'get' ? [] : [`-H ${quoted(`origin: ${base.url}`)}`];
  return [`-b ${quoted(`${base.sessionCookie}=SESSION`)}`, ...origin];
}

function body({ requestBody }: DescribedOperation): string[] {
  const [[type, media] = ['', undefined]] = Object.entries(requestBody?.content ?? {});
  if (!media) return [];
  if (type.includes('json')) {
    const example = 'example' in media ? [`-d ${quoted(JSON.stringify(media.example))}`] : [];
    return [`-H ${quoted(`content-type: ${type}`)}`, ...example];
  }
  const { required = [] } = media.schema as JsonSchema;
  return required.map((name) => `--data-urlencode ${quoted(`${name}=${name.toUpperCase()}`)}`);
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
