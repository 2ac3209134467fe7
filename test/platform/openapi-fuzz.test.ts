import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { compile } from '../../src/platform/validator.ts';
import { type Answer, readAnswer } from '../support/browser.ts';
import { basic } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { type Signet, startSignet } from '../support/signet.ts';

/** Requests made from the schemas of the document alone: what is valid by them, and what is nearly so. */

type Schema = {
  type?: string;
  enum?: readonly unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  items?: Schema;
  anyOf?: readonly Schema[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
};
type Media = Record<string, { schema?: Schema & { $ref?: string } }>;
type Operation = {
  operationId: string;
  tags: string[];
  parameters: { name: string; in: 'path' | 'query'; required: boolean; schema: Schema }[];
  requestBody?: { content: Media };
  responses: Record<string, { content?: Media }>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: { Error: Schema } };
};

/** What a schema cannot say: operation, and the field, or a part of the description, that is refused nevertheless. */
const semanticReasons: readonly [RegExp, RegExp][] = [
  // Names of letters; what a reader could take for another host; fields that contradict each other.
  [
    /.*/,
    /^name$|^redirect_uris|^post_logout_redirect_uris|_url$|_uri$|^jwks$|^application_type$|^token_endpoint_auth_method$|^allowed_scopes/,
  ],
  [/^createWebhook$/, /^url$/],
  [/SignalStream$/, /^description$|^delivery\/(endpoint_url|authorization_header)$/],
  [/SignalSubject$/, /^subject/],
  [/^approveClientHost$/, /^host$/],
  [/ServiceCredential$/, /^name$|^products|^api_id$|^permissions/],
  [/Api(Scope)?$/, /^identifier$|^name$|^description$|^scope|^sentence_/],
  [/^approveClient$/, /^allowed_scopes$|^consent$|^refresh_retry_window$/],
  [/^(approveClient|changeClientPolicy)$/, /^(allowed|visible)_groups/],
  [/^importUsers$/, /^(firebase_hash|source|rp_id|users)/],
  [/Group(Member)?$/, /^name$|^description$|^external_id$|^user$/],
  [/Attribute$/, /^name$|^labels$|^choices|^(minimum|maximum|max_length|sign_up|visible_to)$/],
  [/^(updateCurrentUser|editUser)$/, /^attributes/],
  [/^writeEntitlement$/, /^metadata$|^(product|plan|source|external_\w+|event_id)$/],
  [/.*/, /^email$/], // its domain must be one by UTS 46
  [/^changePassword$/, /^password$/],
  [/^updateCurrentUser$/, /name$|^picture$|^profile$|^website$|^gender$|^birthdate$|^zoneinfo$/],
  [/^registerPasskey$/, /.*/],
  // A cursor, a day or a hint of the right form that was never issued.
  [/.*/, /^(before|after|since|until)$/],
  [/^(authorize|pushAuthorizationRequest|logout|logoutByPost|startFederatedSignIn)$/, /.*/],
  [/^(listAuditEvents|exportAuditLog)$/, /^address$/],
  // A plan without its product.
  [/^(listEntitlements|exportEntitlements)$/, /^plan$/],
  [/^set(Brand)?Picture$/, /^content$/], // it must be a picture
  [/^(editBrand|setBrandWords)$/, /^(?!place|font|header|radius)/],
  [/Brand/, /^picture$|^version$/],
  // The tests send credentials in HTTP Basic, and then none may be in the body.
  [/^(issueTokens|revokeToken|introspectToken)$/, /client_id|HTTP Basic|client_assertion/],
];

const anyText = fc.string({ unit: 'grapheme', maxLength: 40 });

function valid(schema: Schema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valid));
  switch (schema.type) {
    case 'string':
      return text(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 1e9, 2 ** 31 - 1) });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 3, uniqueItems = false } = schema;
      const bounds = { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, 3)) };
      return uniqueItems ? fc.uniqueArray(valid(items), bounds) : fc.array(valid(items), bounds);
    }
    case 'object': {
      const members = Object.entries(schema.properties ?? {}).map(([name, one]) => [name, valid(one)] as const);
      const requiredKeys = (schema.required ?? []).filter((name) => schema.properties?.[name]);
      const shape = compile(schema);
      return fc
        .record(Object.fromEntries(members), { requiredKeys, noNullPrototype: true })
        .filter((value) => shape.check(value));
    }
    default:
      return fc.constantFrom<unknown>('x', 1, true);
  }
}

const matchers = new Map<string, fc.Arbitrary<string>>();

/** Made once for a pattern: making one takes longer than all the strings that are drawn from it. */
function matching(pattern: string): fc.Arbitrary<string> {
  const known = matchers.get(pattern);
  if (known) return known;
  // Without the alternative of joined letters, each of whose classes would be counted out; joined-names.test.ts is about them.
  const expression = new RegExp(pattern.replace(/\|\[\^[^\]]*\]\(\?:\[\\u200c\\u200d\]\[\^[^\]]*\]\)\+/g, ''));
  const made = fc.oneof(fc.stringMatching(expression), fc.stringMatching(expression, { size: 'medium' }));
  matchers.set(pattern, made);
  return made;
}

function text({ pattern, format, minLength = 0, maxLength = 200 }: Schema): fc.Arbitrary<string> {
  const made = pattern !== undefined ? matching(pattern) : format === 'uri' ? fc.webUrl() : anyText;
  return made.filter((value) => {
    const { length } = [...value];
    return length >= minLength && length <= maxLength && value.isWellFormed() && !value.includes('\0');
  });
}

/** One member left out, of another type, too long, or unknown. */
const spoiled = (body: unknown): fc.Arbitrary<unknown> => {
  if (typeof body !== 'object' || body === null) return fc.constantFrom(null, [], 'x', 7);
  const names = Object.keys(body);
  const wrong = fc.constantFrom<unknown>(null, '', -1, 1e300, [], {}, 'x'.repeat(3000), '\u0000', '\u202e', true, ['']);
  const changes = [
    wrong.map((value) => ({ ...body, surprise: value })),
    ...names.map((name) => fc.constant(Object.fromEntries(Object.entries(body).filter(([key]) => key !== name)))),
    ...names.map((name) => wrong.map((value) => ({ ...body, [name]: value }))),
  ];
  return fc.oneof(...changes);
};

type Sent = { path: Record<string, unknown>; query: Record<string, unknown>; body: unknown; isValid: boolean };

function requests({ parameters, requestBody }: Operation, known: Record<string, string>): fc.Arbitrary<Sent> {
  const inPlace = (place: 'path' | 'query') =>
    parameters.filter((parameter) => parameter.in === place).map((one) => [one.name, one] as const);
  const path = fc.record(
    Object.fromEntries(
      inPlace('path').map(([name, { schema }]) => {
        const some = text(schema).filter((value) => !/^\.{0,2}$/.test(value));
        return [
          name,
          fc.oneof({ weight: 4, arbitrary: fc.constant(known[name] ?? 'none') }, { weight: 1, arbitrary: some }),
        ];
      }),
    ),
  );
  const query = fc.record(Object.fromEntries(inPlace('query').map(([name, { schema }]) => [name, valid(schema)])), {
    requiredKeys: parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => name),
  });
  const [media] = Object.values(requestBody?.content ?? {});
  const body = media?.schema ? valid(media.schema) : fc.constant(undefined);
  const good = fc.record({ path, query, body, isValid: fc.constant(true) });
  const bad = good.chain((sent) =>
    (sent.body === undefined ? spoiled(sent.query) : spoiled(sent.body)).map((changed) => ({
      ...sent,
      ...(sent.body === undefined ? { query: (changed ?? {}) as Record<string, unknown> } : { body: changed }),
      isValid: false,
    })),
  );
  return fc.oneof({ weight: 3, arbitrary: good }, { weight: 1, arbitrary: bad });
}

test('no request that is made from the document ends in a 5xx or in an answer that is not in it', async (t) => {
  const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`TEST_SEED=${seed}`);
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const document = (await (await fetch(`${signet.url}/openapi.json`)).json()) as Document;
  const faults: string[] = [];
  const statuses = new Set<string>();
  // Each operation has its own, else a text that one of them has as a password would be an address for mail of another.
  let drawn = seed;
  for (const [address, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const caller = await callerOf(signet, operation);
      drawn = (drawn + 0x9e3779b1) | 0; // far from the one before
      const wanted = fc.sample(requests(operation, await namesOf(signet)), { seed: drawn, numRuns: repeated(3) });
      for (const [place, sent] of wanted.entries()) {
        const answer = await send(caller, { address, method, operation, sent });
        statuses.add(`${operation.operationId} ${answer.status}`);
        const fault = faultOf(document, operation, sent, answer);
        if (fault)
          faults.push(`${operation.operationId} #${place}: ${fault}; sent ${JSON.stringify(sent).slice(0, 600)}`);
      }
    }
  }
  assert.deepEqual(faults, []);
  // Most requests get past authentication.
  const succeeded = [...statuses].filter((one) => / [23]\d\d$/.test(one));
  assert.ok(succeeded.length > 40, `only these had an effect: ${succeeded.join(', ')}`);
});

/** Ids of what exists, by parameter. */
async function namesOf(signet: Signet): Promise<Record<string, string>> {
  const user = await signet.newUser();
  const { client_id } = await signet.registerClient({ approved: false });
  return { user_id: user.user_id, client_id, provider: 'none', id: 'none' };
}

type Request = { address: string; method: string; operation: Operation; sent: Sent };

async function send(caller: Caller, { address, method, operation, sent }: Request): Promise<Answer> {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const path = address.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(text(sent.path[name])));
  const pairs = (values: object) =>
    Object.entries(values).map(([name, value]): [string, string] => [name, text(value)]);
  const query = new URLSearchParams(pairs(sent.query)).toString();
  const [type] = Object.keys(operation.requestBody?.content ?? {});
  const isForm = type?.includes('urlencoded') === true;
  const body =
    sent.body === undefined
      ? undefined
      : isForm
        ? new URLSearchParams(pairs(Object(sent.body))).toString()
        : JSON.stringify(sent.body);
  const init: RequestInit = {
    method: method.toUpperCase(),
    redirect: 'manual',
    body,
    headers: type === undefined ? {} : { 'content-type': type },
  };
  const url = path + (query && `?${query}`);
  return caller(url, init);
}

type Caller = (path: string, init: RequestInit) => Promise<Answer>;

/** An administrator, a user, or a client with credentials for HTTP Basic. */
async function callerOf(signet: Signet, { operationId, tags }: Operation): Promise<Caller> {
  if (tags.includes('Signals')) {
    const { authorization } = await signet.newService({ permissions: ['signals:manage'], products: [] });
    return async (path, init) =>
      readAnswer(await fetch(signet.url + path, { ...init, headers: { ...init.headers, authorization } }));
  }
  if (tags.includes('OIDC') || operationId === 'writeEntitlement') {
    const { client_id, client_secret } = await (tags.includes('OIDC') ? signet.registerClient() : signet.newService());
    const authorization = basic(client_id, client_secret ?? '');
    return async (path, init) =>
      readAnswer(await fetch(signet.url + path, { ...init, headers: { ...init.headers, authorization } }));
  }
  const { browser } = await signet.signedInUser(tags.includes('Administration') ? { role: 'admin' } : {});
  return (path, init) => browser.send(path, { ...init, headers: { origin: signet.url, ...init.headers } });
}

function faultOf(document: Document, { operationId, responses }: Operation, { isValid }: Sent, answer: Answer) {
  const { status, json } = answer;
  const said = answer.text.slice(0, 200);
  if (status >= 500) return `answered ${status}: ${said}`;
  const described = responses[status];
  if (!described) return `answered ${status}, which is not described: ${said}`;
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  if (answer.text !== '' && !described.content?.[type]) return `answered ${status} as ${type}, which is not described`;
  const schema = described.content?.[type]?.schema;
  const resolved = schema?.$ref ? document.components.schemas.Error : schema;
  if (resolved && type === 'application/json' && !compile(resolved).check(json)) {
    return `answered ${status} with a body that is not as described: ${said}`;
  }
  if (!isValid || status !== 400 || json?.error !== 'invalid_request') return undefined;
  const fields = ((json.fields ?? []) as { path: string }[]).map((one) => one.path);
  const about = fields.length > 0 ? fields : [String(json.error_description)];
  const isSemantic = (one: string) =>
    semanticReasons.some(([operation, field]) => operation.test(operationId) && field.test(one));
  return about.every(isSemantic) ? undefined : `refused what is valid: ${said}`;
}
