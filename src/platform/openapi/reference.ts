import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Config } from '../config.ts';
import { type ErrorCode, notFound } from '../errors.ts';
import { type Guide, guideFile, guidesPath, readGuides } from '../guides/guides.ts';
import { cookieNames } from '../http/cookies.ts';
import { type Tag, tags } from '../http/operation.ts';
import { publicDocument, representations, sendPublicDocument, sendRepresentation } from '../http/representations.ts';
import { type Html, html } from '../pages/html.ts';
import { type Page, sendPage } from '../pages/page.ts';
import type { View, ViewDeps } from '../pages/view.ts';
import {
  anchor,
  type Contents,
  groupOf,
  groupsOf,
  maxQuery,
  navigation,
  overviewsOf,
  referencePath,
  searchForm,
  searchPath,
} from './contents.ts';
import { type Base, curlFor } from './curl.ts';
import { type ApiDocument, type DescribedOperation, type DescribedRoute, describeApi } from './document.ts';
import { conditions } from './error-codes.ts';
import { guidePage } from './guide-page.ts';
import { type JsonSchema, variantsOf } from './json-schema.ts';
import { searchPage } from './search-page.ts';

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

  let guides: Promise<readonly Guide[]> | undefined;
  const contents = async (): Promise<Contents> => {
    guides ??= readGuides(deps.config.baseUrl);
    return { issuer: deps.config.baseUrl, guides: await guides, document: describe() };
  };
  const pages = new Map<string, Promise<Page>>(); // public, and the same for all
  const send = async (reply: FastifyReply, view: View, path: string, draw: () => Promise<Page>) =>
    sendPage(reply, view, await pages.getOrInsertComputed(`${view.locale} ${path}`, draw));
  const add = (path: string, draw: (view: View, contents: Contents) => Page) =>
    app.get(path, { config: { page: true } }, async ({ view }, reply) =>
      send(reply, view, path, async () => draw(view, await contents())),
    );
  add('/reference', (view, contents) => referenceIndex(view, deps.config, contents));
  app.get(searchPath, { config: { page: true } }, async (request, reply) => {
    const { q = '' } = request.queryParameters;
    return sendPage(reply, request.view, searchPage(request.view, await contents(), q.trim().slice(0, maxQuery)));
  });
  for (const tag of Object.keys(tags) as Tag[])
    add(referencePath(tag), (view, contents) => referencePage(view, deps.config, contents, tag));
  const files = new Map<string, { type: string; forms: ReturnType<typeof representations> }>();
  function fileAt(path: string) {
    const known = files.get(path);
    const file = known ? undefined : guideFile(path);
    if (file) files.set(path, { type: file.type, forms: representations(file.content) });
    return files.get(path);
  }
  for (const path of [guidesPath, `${guidesPath}/:page`, `${guidesPath}/:folder/:page`]) {
    app.get(path, { config: { page: true } }, async (request, reply) => {
      const { view } = request;
      const [wanted = ''] = request.url.split('?', 1);
      const all = await contents();
      const guide = all.guides.find(({ path }) => path === wanted);
      if (guide) return send(reply, view, guide.path, () => guidePage(view, all, guide));
      const file = fileAt(wanted);
      if (!file) throw notFound();
      reply.header('cache-control', 'public, max-age=3600');
      reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'"); // a picture is opened by itself, too
      return sendRepresentation(request, reply, file.forms, file.type);
    });
  }
  // Where the guides for developers were.
  for (const path of ['/reference/guides/:folder', '/reference/guides/:folder/:page']) {
    app.get(path, async (request, reply) => reply.redirect(request.url.replace('/reference/guides', guidesPath), 301));
  }
}

/** Guides, and the same document that programs read, as pages: here every operation. */
const referenceIndex = (view: View, config: Config, contents: Contents): Page => ({
  title: view.plain('reference.index.title'),
  aside: { home: '/developer', content: navigation(view, contents, '/reference') },
  content: html`<h1>${view.t('reference.index.title')}</h1>
${searchForm(view, '')}
<h2>${view.t('reference.guides')}</h2>
<p class="soft">${view.t('reference.guides.intro')}</p>
<ul class="addresses" lang="en">${overviewsOf(contents).map(
    ({ path, title, lead }) => html`<li><a href="${path}">${title}</a> <span>${lead}</span></li>\n`,
  )}</ul>
<h2>${view.t('reference.title')}</h2>
<p class="soft">${view.t('reference.intro', { url: html`<code>${config.baseUrl}/openapi.json</code>` })}</p>
${groupsOf(contents.document).map(groupOf)}`,
});

function referencePage(view: View, config: Config, contents: Contents, tag: Tag): Page {
  const base = { url: config.baseUrl, sessionCookie: cookieNames(config).session };
  const { description, members } = groupsOf(contents.document).find(({ name }) => name === tag)!;
  return {
    title: `${tag} - ${view.plain('reference.title')}`,
    aside: { home: '/developer', content: navigation(view, contents, referencePath(tag)) },
    content: html`<h1>${view.t('reference.title')}</h1>
<h2 lang="en">${tag}</h2>
<p class="soft" lang="en">${description}</p>
${members.map(({ path, method, operation }) => operationOf(view, operation, { path, method, base }))}`,
  };
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
  DPoPAuth: 'reference.who.dpop',
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
