import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';
import type { ErrorCode } from '../errors.ts';
import { cookieNames } from '../http/cookies.ts';
import { type Tag, tags } from '../http/operation.ts';
import { publicDocument, sendPublicDocument } from '../http/representations.ts';
import { type Html, html, untrusted } from '../pages/html.ts';
import { emptyList } from '../pages/lists.ts';
import { type Page, sendPage } from '../pages/page.ts';
import type { View, ViewDeps } from '../pages/view.ts';
import { type Base, curlFor } from './curl.ts';
import { type ApiDocument, type DescribedOperation, type DescribedRoute, describeApi } from './document.ts';
import { conditions } from './error-codes.ts';
import { type JsonSchema, variantsOf } from './json-schema.ts';

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

  const pages = new Map<string, Page>(); // public, and the same for all
  const add = (path: string, draw: (view: View) => Page) =>
    app.get(path, { config: { page: true } }, async (request, reply) => {
      const { view } = request;
      const page = pages.getOrInsertComputed(`${view.locale} ${path}`, () => draw(view));
      return sendPage(reply, view, page);
    });
  add('/reference', (view) => referenceIndex(view, deps.config, describe()));
  app.get('/reference/search', { config: { page: true } }, async (request, reply) => {
    const { q = '' } = request.queryParameters;
    return sendPage(reply, request.view, searchPage(request.view, describe(), q.trim().slice(0, maxQuery)));
  });
  for (const tag of Object.keys(tags) as Tag[])
    add(referencePath(tag), (view) => referencePage(view, deps.config, describe(), tag));
}

const referencePath = (tag: Tag): string => `/reference/${anchor(tag)}`;

/** The same document that programs read, as pages: here every operation, with a link to its description. */
const referenceIndex = (view: View, config: Config, document: ApiDocument): Page => ({
  title: view.plain('reference.title'),
  aside: { home: '/developer', content: navigation(view, document) },
  content: html`<h1>${view.t('reference.title')}</h1>
<p class="soft">${view.t('reference.intro', { url: html`<code>${config.baseUrl}/openapi.json</code>` })}</p>
${searchForm(view, '')}
${groupsOf(document).map((group) => groupOf(group))}`,
});

const maxQuery = 100;

/** Operations in whose description each of the words is found. */
function searchPage(view: View, document: ApiDocument, q: string): Page {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ path, method, operation }: Group['members'][number]) => {
    const text = `${method} ${path} ${wordsOf(operation)}`;
    return words.every((word) => text.includes(word));
  };
  const found = groupsOf(document)
    .map((group) => ({ ...group, members: group.members.filter(isFound) }))
    .filter(({ members }) => members.length > 0);
  return {
    title: view.plain('reference.title'),
    aside: { home: '/developer', content: navigation(view, document) },
    content: html`<h1>${view.t('reference.title')}</h1>
${searchForm(view, q)}
<p><a href="/reference" id="reference-clear">${view.t('reference.search.clear')}</a></p>
${found.length === 0 ? emptyList(view.t('reference.search.none', { query: html`<q>${untrusted(q)}</q>` })) : found.map((group) => groupOf(group))}`,
  };
}

const found = new WeakMap<DescribedOperation, string>();

/** Names, parameters, members, statuses and errors, in words. The examples would be found by words that mean nothing. */
const wordsOf = (operation: DescribedOperation): string =>
  found.getOrInsertComputed(operation, () =>
    JSON.stringify(operation, (key, value) => (/^examples?$/.test(key) ? undefined : value)).toLowerCase(),
  );

const searchForm = (view: View, q: string): Html => html`<form method="get" action="/reference/search" role="search">
<label for="q">${view.t('reference.search')}</label>
<input id="q" name="q" type="search" maxlength="${maxQuery}" autocomplete="off" value="${q}" aria-describedby="q-hint">
<p class="hint" id="q-hint">${view.t('reference.search.hint')}</p>
<button type="submit" class="quiet" id="reference-find">${view.t('reference.search.submit')}</button>
</form>`;

const groupOf = ({ name, members }: Group): Html => html`<h2><a href="${referencePath(name)}" lang="en">${name}</a></h2>
<ul class="addresses">${members.map(
  ({ path, method, operation }) =>
    html`<li><a href="${referencePath(name)}#${anchor(`${method}-${path}`)}"><code>${method.toUpperCase()} ${path}</code></a> <span lang="en">${operation.summary}</span></li>\n`,
)}</ul>
`;

function referencePage(view: View, config: Config, document: ApiDocument, tag: Tag): Page {
  const base = { url: config.baseUrl, sessionCookie: cookieNames(config).session };
  const { description, members } = groupsOf(document).find(({ name }) => name === tag)!;
  return {
    title: `${tag} - ${view.plain('reference.title')}`,
    aside: { home: '/developer', content: navigation(view, document, tag) },
    content: html`<h1>${view.t('reference.title')}</h1>
<h2 lang="en">${tag}</h2>
<p class="soft" lang="en">${description}</p>
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

type Group = ReturnType<typeof groupsOf>[number];

function groupsOf(document: ApiDocument) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return document.tags
    .map((tag) => ({ ...tag, members: operations.filter(({ operation }) => operation.tags.includes(tag.name)) }))
    .filter(({ members }) => members.length > 0);
}

type Place = { path: string; method: string; base: Base };

const operationOf = (
  view: View,
  operation: DescribedOperation,
  { path, method, base }: Place,
): Html => html`<details id="${anchor(`${method}-${path}`)}">
<summary><code>${method.toUpperCase()} ${path}</code> <span class="about" lang="en">${operation.summary}</span></summary>
${operation.description && html`<p>${marked(operation.description)}</p>`}
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
  ClientSecret: 'reference.who.client',
  ServiceCredential: 'reference.who.service',
} as const;

function callers(view: View, { security }: DescribedOperation): Html {
  if (security.length === 0) return view.t('reference.who.unauthenticated');
  const keys = security.flatMap((one) => {
    const schemes = Object.keys(one) as (keyof typeof callerKeys)[];
    return schemes.length === 0 ? ['reference.who.public' as const] : schemes.map((scheme) => callerKeys[scheme]);
  });
  return html`${keys.map((key, place) => html`${place > 0 && html`; `}${view.t(key)}`)}`;
}

const parameters = (view: View, operation: DescribedOperation) =>
  operation.parameters.length > 0 &&
  html`<h3>${view.t('reference.parameters')}</h3>
<dl>${operation.parameters.map(({ name, schema, required, description }) =>
    memberItem(view, { name, type: describeType(schema as JsonSchema), isRequired: required, description }),
  )}</dl>`;

function requestBody(view: View, { requestBody }: DescribedOperation) {
  const [[type, media] = ['', undefined]] = Object.entries(requestBody?.content ?? {});
  if (!media) return false;
  return html`<h3>${view.t('reference.body', { type: html`<code>${type}</code>` })}</h3>
${variantsOf(media.schema as JsonSchema).map(
  ({ title, schema }) => html`${
    title !== undefined &&
    html`<h4><code>${title}</code></h4>
`
  }<dl>${membersOf(schema).map((member) => memberItem(view, member))}</dl>
`,
)}${'example' in media && codeBlock(view.t('reference.example.body'), JSON.stringify(media.example, null, 2))}`;
}

const memberItem = (
  view: View,
  { name, type, isRequired, description }: Member,
) => html`<dt><code>${name}</code></dt><dd><span lang="en">${type}</span>${isRequired && html` <strong>${view.t('reference.required')}</strong>`}${description && html`<br>${marked(description)}`}</dd>
`;

function answerOf(view: View, status: string, answer: DescribedOperation['responses'][string]): Html {
  const media = answer.content?.['application/json'];
  const errors = Object.entries(media?.examples ?? {});
  const members = membersOf((media?.schema ?? {}) as JsonSchema);
  if (errors.length > 0 && status !== 'default') {
    return html`<dt><code>${status}</code></dt><dd><ul>${errors.map(
      ([code]) => html`<li><code>${code}</code> <span lang="en">${marked(conditions[code as ErrorCode])}</span></li>\n`,
    )}</ul>
${codeBlock(view.t('reference.example.answer'), errors.map(([, { value }]) => JSON.stringify(value, null, 2)).join('\n'))}</dd>
`;
  }
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

/** A text area scrolls by itself, and a keyboard can select all of it. */
const codeBlock = (label: Html, text: string): Html =>
  html`<textarea class="code" rows="${text.split('\n').length}" readonly spellcheck="false" wrap="off" aria-label="${label}">${text}</textarea>`;

/** Descriptions are CommonMark (OpenAPI §4.6); ours use backquotes and nothing else of it. */
const marked = (text: string): Html =>
  html`<span lang="en">${text.split('`').map((part, place) => (place % 2 === 1 ? html`<code>${part}</code>` : part))}</span>`;

const anchor = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

/** `name` is the path in the body: `fields[].path`. */
type Member = { name: string; type: string; isRequired: boolean; description: string | undefined };

const maxDepth = 3;

/** Every member of a body, the outer before the inner. */
export function membersOf(schema: JsonSchema, prefix = '', depth = 0): Member[] {
  const { properties = {}, required = [] } = branchesOf(schema).find((branch) => branch.properties) ?? {};
  return Object.entries(properties).flatMap(([key, member]) => {
    const name = prefix + key;
    const branches = branchesOf(member);
    const description = member.description ?? branches.find((branch) => branch.description)?.description;
    const described = { name, type: describeType(member), isRequired: required.includes(key), description };
    if (depth >= maxDepth) return [described];
    const items = branches.find((branch) => branch.items)?.items;
    return [described, ...membersOf(items ?? member, items ? `${name}[].` : `${name}.`, depth + 1)];
  });
}

const branchesOf = (schema: JsonSchema) => schema.anyOf ?? [schema];

/** In English, like the rest of the description. */
export function describeType(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)!;
  if (schema.anyOf) return [...new Set(schema.anyOf.map(describeType))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.items) return `array of ${describeType(schema.items)}${range(schema.minItems, schema.maxItems, 'item')}`;
  const otherwise = schema.default === undefined ? '' : `, default ${schema.default}`;
  if (schema.type === 'string') {
    return `string${range(schema.minLength, schema.maxLength, 'character')}${otherwise}`;
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    return `${schema.type}${range(schema.minimum, schema.maximum, '')}${otherwise}`;
  }
  return schema.type ?? 'anything';
}

function range(min = 0, max: number = Number.MAX_SAFE_INTEGER, unit: string): string {
  const isBounded = max < Number.MAX_SAFE_INTEGER;
  if (min === 0 && !isBounded) return '';
  const words = !isBounded ? `at least ${min}` : min === 0 ? `at most ${max}` : `${min} to ${max}`;
  if (unit === '') return `, ${words}`;
  return `, ${words} ${unit}${(isBounded ? max : min) === 1 ? '' : 's'}`;
}
