import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { cookieNames } from '../http/cookies.ts';
import { tags } from '../http/operation.ts';
import { publicDocument, sendPublicDocument } from '../http/representations.ts';
import { type Html, html } from '../pages/html.ts';
import { type Page, sendPage } from '../pages/page.ts';
import type { View, ViewDeps } from '../pages/view.ts';
import { type ApiDocument, type DescribedOperation, type DescribedRoute, describeApi } from './document.ts';

/** The description of everything that a program may call, from the schemas that the routes check with. */
export async function openApiRoutes(app: FastifyInstance, deps: ViewDeps, described: DescribedRoute[]) {
  let api: ApiDocument | undefined;
  const describe = () => {
    api ??= describeApi(deps.config, described);
    return api;
  };
  let document: ReturnType<typeof publicDocument> | undefined;
  app.get('/openapi.json', async (request, reply) => {
    document ??= publicDocument(describe());
    return sendPublicDocument(request, reply, document);
  });

  const pages = new Map<string, Page>(); // anybody may ask, and it is the same for all
  const send = (request: FastifyRequest, reply: FastifyReply, draw: (view: View) => Page, name: string) => {
    const view = request.view;
    const key = `${view.locale} ${name}`;
    const page = pages.get(key) ?? draw(view);
    pages.set(key, page);
    return sendPage(reply, view, page);
  };
  const config = { page: true };
  app.get('/reference', { config }, async (request, reply) =>
    send(request, reply, (view) => referenceIndex(view, deps.config, describe()), ''),
  );
  for (const tag of tags) {
    app.get(referencePath(tag), { config }, async (request, reply) =>
      send(request, reply, (view) => referencePage(view, deps.config, describe(), tag), tag),
    );
  }
}

type Tag = ApiDocument['tags'][number]['name'];

const referencePath = (tag: Tag): string => `/reference/${anchor(tag)}`;

/** The API description for people: the same document that programs read, in our own templates. Every address there is. */
const referenceIndex = (view: View, config: Config, document: ApiDocument): Page => ({
  title: view.plain('reference.title'),
  aside: navigation(view, document),
  content: html`<h1>${view.t('reference.title')}</h1>
<p class="soft">${view.t('reference.intro', { url: html`<code>${config.baseUrl}/openapi.json</code>` })}</p>
${groupsOf(document).map(
  ({ name, members }) => html`<h2><a href="${referencePath(name)}" lang="en">${name}</a></h2>
<ul class="addresses">${members.map(
    ({ path, method, operation }) =>
      html`<li><a href="${referencePath(name)}#${anchor(`${method}-${path}`)}"><code>${method.toUpperCase()} ${path}</code></a> <span lang="en">${operation.summary}</span></li>\n`,
  )}</ul>
`,
)}`,
});

/** One group of addresses: all of them on one page would be long to load and to look through. */
function referencePage(view: View, config: Config, document: ApiDocument, tag: Tag): Page {
  const base = { url: config.baseUrl, sessionCookie: cookieNames(config).session };
  const members = groupsOf(document).find(({ name }) => name === tag)?.members ?? [];
  return {
    title: `${tag} - ${view.plain('reference.title')}`,
    aside: navigation(view, document, tag),
    content: html`<h1>${view.t('reference.title')}</h1>
<h2 lang="en">${tag}</h2>
${members.map(({ path, method, operation }) => operationOf(view, operation, { path, method, base }))}`,
  };
}

const navigation = (
  view: View,
  document: ApiDocument,
  current?: Tag,
): Html => html`<nav class="tabs" aria-label="${view.t('reference.navigation')}">
<ul><li><a href="/reference"${current === undefined && html` aria-current="page"`}>${view.t('reference.all')}</a></li>
${groupsOf(document).map(({ name }) => html`<li><a href="${referencePath(name)}" lang="en"${name === current && html` aria-current="page"`}>${name}</a></li>\n`)}
<li><a href="/openapi.json">OpenAPI 3.1</a></li>
<li><a href="/developer">${view.t('developer.tab.list')}</a></li></ul>
</nav>
`;

function groupsOf(document: ApiDocument) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return document.tags
    .map(({ name }) => ({ name, members: operations.filter(({ operation }) => operation.tags.includes(name)) }))
    .filter(({ members }) => members.length > 0);
}

type Place = { path: string; method: string; base: { url: string; sessionCookie: string } };

/** Closed at first: whoever looks for an address sees them all, and opens one. */
const operationOf = (
  view: View,
  operation: DescribedOperation,
  { path, method, base }: Place,
): Html => html`<details id="${anchor(`${method}-${path}`)}">
<summary><code>${method.toUpperCase()} ${path}</code> <span class="about" lang="en">${operation.summary}</span></summary>
${operation.description && paragraph(operation.description)}
<dl><dt>${view.t('reference.who')}</dt><dd>${callers(view, operation)}</dd></dl>
${parameters(view, operation)}
${requestBody(view, operation)}
<h3>${view.t('reference.answers')}</h3>
<dl>${Object.entries(operation.responses).map(([status, answer]) => answerOf(view, status, answer))}</dl>
<h3>${view.t('reference.example')}</h3>
${codeBlock(view.t('reference.example'), curlFor(method, path, operation, base))}
</details>
`;

const callerKeys = {
  SessionCookie: 'reference.who.session',
  BearerAuth: 'reference.who.bearer',
  BasicAuth: 'reference.who.basic',
} as const;

function callers(view: View, { security }: DescribedOperation): Html {
  if (security.length === 0) return view.t('reference.who.anybody');
  const keys = security.flatMap((one) => {
    const schemes = Object.keys(one) as (keyof typeof callerKeys)[];
    return schemes.length === 0 ? ['reference.who.public' as const] : schemes.map((scheme) => callerKeys[scheme]);
  });
  return html`${keys.map((key, place) => html`${place > 0 && html`; `}${view.t(key)}`)}`;
}

const parameters = (view: View, operation: DescribedOperation) =>
  operation.parameters.length > 0 &&
  html`<h3>${view.t('reference.parameters')}</h3>
<dl>${operation.parameters.map((parameter) =>
    memberItem(view, {
      name: parameter.name,
      type: describeType(parameter.schema as JsonSchema),
      isRequired: parameter.required,
      description: parameter.description,
    }),
  )}</dl>`;

function requestBody(view: View, operation: DescribedOperation) {
  const [[type, media] = ['', undefined]] = Object.entries(operation.requestBody?.content ?? {});
  if (!media) return false;
  return html`<h3>${view.t('reference.body', { type: html`<code>${type}</code>` })}</h3>
<dl>${membersOf(media.schema as JsonSchema).map((member) => memberItem(view, member))}</dl>
${'example' in media && codeBlock(view.t('reference.example.body'), JSON.stringify(media.example, null, 2))}`;
}

const memberItem = (
  view: View,
  { name, type, isRequired, description }: ReturnType<typeof membersOf>[number],
) => html`<dt><code>${name}</code></dt><dd><span lang="en">${type}</span>${isRequired && html` <strong>${view.t('reference.required')}</strong>`}${description && html`<br>${marked(description)}`}</dd>
`;

type Answer = DescribedOperation['responses'][string];

function answerOf(view: View, status: string, answer: Answer): Html {
  const media = answer.content?.['application/json'];
  const members = membersOf((media?.schema ?? {}) as JsonSchema);
  return html`<dt><code>${status}</code></dt><dd>${marked(answer.description)}
${
  members.length > 0 &&
  html`<ul>${members.map(
    ({ name, type, isRequired, description }) =>
      html`<li><code>${name}${!isRequired && '?'}</code> <span lang="en">${type}</span>${description && html` - ${marked(description)}`}</li>\n`,
  )}</ul>`
}
${media?.example !== undefined && codeBlock(view.t('reference.example.answer'), JSON.stringify(media.example, null, 2))}</dd>
`;
}

/** Read-only and still a field: it scrolls by itself, and a keyboard can select all of it. */
const codeBlock = (label: Html, text: string): Html =>
  html`<textarea class="code" rows="${text.split('\n').length}" readonly spellcheck="false" wrap="off" aria-label="${label}">${text}</textarea>`;

const paragraph = (text: string) => html`<p>${marked(text)}</p>`;

/** Descriptions are CommonMark (OpenAPI §4.6); ours use backquotes and nothing else of it. */
const marked = (text: string): Html =>
  html`<span lang="en">${text.split('`').map((part, place) => (place % 2 === 1 ? html`<code>${part}</code>` : part))}</span>`;

const anchor = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

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

/** A JSON Schema as far as we write them. */
export type JsonSchema = {
  type?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly JsonSchema[];
  items?: JsonSchema;
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  description?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  default?: unknown;
  $ref?: string;
};

/** A member of a body, with the way to it: `fields[].path`. */
type Member = { name: string; type: string; isRequired: boolean; description: string | undefined };

const deepest = 3;

/** Every member that the description promises, the outer before the inner. */
export function membersOf(schema: JsonSchema, prefix = '', depth = 0): Member[] {
  const { properties = {}, required = [] } = objectIn(schema) ?? {};
  return Object.entries(properties).flatMap(([key, member]) => {
    const name = prefix + key;
    const described = {
      name,
      type: describeType(member),
      isRequired: required.includes(key),
      description: describeBranches(member),
    };
    if (depth >= deepest) return [described];
    const isList = listIn(member) !== undefined;
    return [described, ...membersOf(listIn(member) ?? member, `${name}${isList ? '[]' : ''}.`, depth + 1)];
  });
}

const branches = (schema: JsonSchema) => schema.anyOf ?? [schema];
const objectIn = (schema: JsonSchema) => branches(schema).find(({ properties }) => properties !== undefined);
const listIn = (schema: JsonSchema) => branches(schema).find(({ items }) => items !== undefined)?.items;
const describeBranches = (schema: JsonSchema) =>
  schema.description ?? branches(schema).find(({ description }) => description)?.description;

/** In a few English words, as the rest of the description. */
export function describeType(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)!;
  if (schema.anyOf) return [...new Set(schema.anyOf.map(describeType))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.items) return `array of ${describeType(schema.items)}${range(schema.minItems, schema.maxItems, 'item')}`;
  if (schema.type === 'string') return `string${range(schema.minLength, schema.maxLength, 'character')}`;
  if (schema.type === 'integer' || schema.type === 'number') {
    return `${schema.type}${range(schema.minimum, schema.maximum, '')}`;
  }
  return schema.type ?? 'anything';
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  const end = most === Number.MAX_SAFE_INTEGER ? undefined : most;
  const words =
    end === undefined
      ? least === undefined || least === 0
        ? undefined
        : `at least ${least}`
      : least === undefined || least === 0
        ? `at most ${end}`
        : `${least} to ${end}`;
  if (words === undefined || unit === '') return words === undefined ? '' : `, ${words}`;
  return `, ${words} ${unit}${(end ?? least) === 1 ? '' : 's'}`;
}
