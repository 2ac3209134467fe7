import type { DescribedOperation } from './document.ts';
import { type JsonSchema, variantsOf } from './json-schema.ts';

export type Base = { url: string; sessionCookie: string };

/** Commands for a shell, one for each kind of body and caller; what the reader has to fill in is in capitals. */
export function curlFor(method: string, path: string, operation: DescribedOperation, base: Base): string {
  const address = base.url + path.replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, schema }) => `${name}=${fixedValue(schema as JsonSchema) ?? name.toUpperCase()}`);
  const url = query.length > 0 ? `${address}?${query.join('&')}` : address;
  const start = method === 'get' ? 'curl' : `curl -X ${method.toUpperCase()}`;
  const [[type, media] = ['', undefined]] = Object.entries(operation.requestBody?.content ?? {});
  const isForm = type === 'application/x-www-form-urlencoded';
  const security = isForm ? operation.security : operation.security.slice(0, 1);
  const kinds = media ? variantsOf(media.schema as JsonSchema) : [{ schema: {} }];
  const commands = kinds.flatMap(({ schema }) =>
    (security.length > 0 ? security : [undefined]).map((one) =>
      [
        `${start} ${quoted(url)}`,
        ...credentials(one, base, method),
        ...(isForm ? formOf(schema, media?.example, one) : jsonOf(type, media?.example)),
      ].join(' \\\n  '),
    ),
  );
  return [...new Set(commands)].join('\n\n');
}

type Requirement = DescribedOperation['security'][number] | undefined;

function credentials(requirement: Requirement, base: Base, method: string): string[] {
  switch (Object.keys(requirement ?? {})[0]) {
    case 'BearerAuth':
      return [`-H ${quoted('authorization: Bearer ACCESS_TOKEN')}`];
    case 'DPoPAuth':
      return [`-H ${quoted('authorization: DPoP ACCESS_TOKEN')}`, `-H ${quoted('dpop: PROOF')}`];
    case 'ClientSecret':
      return [`-u ${quoted('CLIENT_ID:CLIENT_SECRET')}`];
    case 'ServiceCredential':
      return [`-u ${quoted('SERVICE_ID:SERVICE_SECRET')}`];
    case 'SessionCookie':
      return [
        `-b ${quoted(`${base.sessionCookie}=SESSION`)}`,
        ...(method === 'get' ? [] : [`-H ${quoted(`origin: ${base.url}`)}`]),
      ];
    default:
      return [];
  }
}

const jsonOf = (type: string, example: unknown): string[] => {
  if (type === '') return [];
  return [
    `-H ${quoted(`content-type: ${type}`)}`,
    ...(example === undefined ? [] : [`-d ${quoted(JSON.stringify(example))}`]),
  ];
};

/** A public client, which has no credentials, names itself in the form. */
function formOf({ properties = {}, required = [] }: JsonSchema, example: unknown, requirement: Requirement): string[] {
  const isPublicClient = requirement && Object.keys(requirement).length === 0 && 'client_id' in properties;
  const names = [...required, ...(isPublicClient && !required.includes('client_id') ? ['client_id'] : [])];
  const values = {
    ...Object.fromEntries(names.map((name) => [name, fixedValue(properties[name] ?? {}) ?? name.toUpperCase()])),
    ...(example as object | undefined),
  };
  return Object.entries(values).map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`);
}

/** The only value that there is. */
function fixedValue(schema: JsonSchema): string | undefined {
  const value = schema.const ?? (schema.enum?.length === 1 ? schema.enum[0] : undefined);
  return value === undefined ? undefined : String(value);
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
