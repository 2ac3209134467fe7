import { latestDate } from '../platform/clock.ts';
import { type FieldProblem, invalidFields } from '../platform/errors.ts';
import { inCode, nullable } from '../platform/http/operation.ts';
import { type Static, Type } from '../platform/schema.ts';
import { isSeen, textPatterns } from '../platform/text.ts';
import { compile } from '../platform/validator.ts';
import { isProduct } from './service-credentials/service-credential.ts';

export const entitlementStatuses = ['active', 'past_due', 'canceled', 'expired'] as const;

/** No control, bidirectional or invisible characters. */
const seen = inCode({ pattern: textPatterns.seen });
const name = (description: string) => Type.String({ minLength: 1, maxLength: 100, ...seen, description });
/** As far as there are dates, so that microseconds sent by mistake are refused. */
const seconds = Type.Integer({ minimum: 0, maximum: latestDate, description: 'Unix seconds.' });
const externalId = nullable(Type.String({ maxLength: 255, ...seen }));

/** Specification 2.10. Other members are refused, since their sender expects them to have an effect. */
export const WriteBody = Type.Object(
  {
    user_id: Type.String({ minLength: 1, maxLength: 255 }),
    product: Type.String({
      minLength: 1,
      maxLength: 100,
      ...inCode({ pattern: textPatterns.visible }),
      description: 'A product that the credential may write, in printable characters.',
    }),
    plan: name('The plan that was bought.'),
    status: Type.Enum([...entitlementStatuses]),
    source: name('The system that reports the entitlement.'),
    version: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Must be higher than the stored version.',
    }),
    current_period_end: Type.Optional(nullable(seconds)),
    external_customer_id: Type.Optional(externalId),
    external_subscription_id: Type.Optional(externalId),
    event_id: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 255,
          ...seen,
          description: 'Use the same value for a retry.',
        }),
      ),
    ),
    metadata: Type.Optional(
      nullable(Type.Record(Type.String(), Type.Unknown(), { description: 'Up to 8 KB; never shown to users.' })),
    ),
  },
  { additionalProperties: false },
);

/** A product or plan as people read it: `team-plus` as “Team plus”. What is no key in lower case is a name already. */
export const nameOfKey = (key: string): string =>
  /^[a-z0-9]+(?:[-_.][a-z0-9]+)*$/.test(key)
    ? key.replaceAll(/[-_.]/g, ' ').replace(/^./, (first) => first.toUpperCase())
    : key;

/** What {@link nameOfKey} shows as this name, in the spelling that most keys have. */
export const keyOfName = (name: string): string => name.toLowerCase().replaceAll(' ', '-');

/** Specification 2.9: exactly these. */
export const Entitlement = Type.Object({
  product: Type.String(),
  plan: Type.String(),
  status: Type.Enum([...entitlementStatuses]),
  current_period_end: nullable(seconds),
  source: Type.String(),
});
export type Entitlement = Static<typeof Entitlement>;

const shape = compile(WriteBody);
/** Decisions §12. */
const longestMetadata = 8 * 1024;
const deepestMetadata = 20;

export type EntitlementWrite = ReturnType<typeof readWrite>;

/** @throws {RequestError} `invalid_request` with every problem at once. */
export function readWrite(body: unknown) {
  if (!shape.check(body)) throw invalidFields(shape.problems(body));
  const {
    current_period_end = null,
    external_customer_id = null,
    external_subscription_id = null,
    event_id = null,
    metadata = null,
    ...required
  } = body;
  const problems: FieldProblem[] = [];
  const { product, plan, source } = required;
  if (!isProduct(product)) problems.push({ path: 'product', message: 'Must be 1 to 100 printable characters.' });
  for (const [path, text] of Object.entries({
    plan,
    source,
    external_customer_id,
    external_subscription_id,
    event_id,
  })) {
    if (text !== null && !isSeen(text)) problems.push({ path, message: 'Must not contain invisible characters.' });
  }
  if (metadata && Buffer.byteLength(JSON.stringify(metadata)) > longestMetadata) {
    problems.push({ path: 'metadata', message: 'Must be at most 8 KB of JSON.' });
  }
  if (isDeeper(metadata, deepestMetadata)) {
    problems.push({ path: 'metadata', message: `Must be nested at most ${deepestMetadata} levels deep.` });
  }
  if (problems.length > 0) throw invalidFields(problems);
  return { ...required, current_period_end, external_customer_id, external_subscription_id, event_id, metadata };
}

/** Looks no deeper than that, whatever is sent. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1)));
