import { createRequire } from 'node:module';
import type { TLocalizedValidationError as SchemaError } from 'typebox/error';
import type { Static, TSchema } from './schema.ts';

/** `path` is a JSON pointer without its first slash, empty for the whole value. */
type Problem = { path: string; message: string };

export type Validator<Value> = {
  check(value: unknown): value is Value;
  /** What is wrong with a value: some of it, if that is much; nothing, if it passes. */
  problems(value: unknown): Problem[];
};

const require = createRequire(import.meta.url);
/** The compiler of TypeBox has 235 files, without which a command or a server starts sooner. */
const loadCompiler = () => require('typebox/schema') as typeof import('typebox/schema');

/** The schema is compiled, and the compiler loaded, when a value is first checked. */
export function compile<Schema extends TSchema>(schema: Schema): Validator<Static<Schema>> {
  let compiled: import('typebox/schema').Validator | undefined;
  const validator = () => {
    compiled ??= loadCompiler().Compile(schema as object);
    return compiled;
  };
  return {
    check: (value): value is Static<Schema> => validator().Check(value),
    problems: (value) => (validator().Check(value) ? [] : inOurWords(validator().Errors(value)[1])),
  };
}

/** Loads the compiler before a request needs it: at a time when a start does not wait for it either. */
export const loadValidators = (): void => void loadCompiler();

/**
 * TypeBox's errors, reworded where its own would repeat what was sent, or not help. It stops at eight, which keeps the
 * answer to a hostile body short; there is always at least one.
 */
function inOurWords(errors: readonly SchemaError[]): Problem[] {
  const nullables = new Set(errors.filter(isNullBranch).map(unionOf));
  const specific = errors.filter((error) => error.keyword !== 'anyOf' && !isNullBranch(error));
  const problems = (specific.length > 0 ? specific : errors).flatMap((error) =>
    problemsOf(error).map((problem) =>
      error.keyword === 'type' && nullables.has(unionOf(error)) ? orNull(problem) : problem,
    ),
  );
  return [...new Map(problems.map((one) => [JSON.stringify([one.path, one.message]), one])).values()];
}

/** Of a nullable value that is not null: the error of its other branch explains more. */
const isNullBranch = (error: SchemaError) =>
  error.keyword === 'type' && error.params.type === 'null' && unionOf(error) !== undefined;

/** The union that a branch belongs to, where the error is the branch's own and not one of its members'. */
const unionOf = ({ schemaPath }: SchemaError) => /^(.*\/anyOf)\/\d+$/.exec(schemaPath)?.[1];

const orNull = ({ path, message }: Problem): Problem => ({ path, message: message.replace(/\.$/, ' or null.') });

function problemsOf(error: SchemaError): Problem[] {
  const path = error.instancePath.slice(1);
  switch (error.keyword) {
    case 'boolean': // for each unknown member, with the name that was sent in its path
    case 'additionalProperties': // once, after them
      return [{ path: '', message: 'Contains an unknown member. Only the documented members can be set.' }];
    case 'required':
      return error.params.requiredProperties.map((name) => ({ path: name, message: 'Is required.' }));
    case 'enum':
      return [{ path, message: `Must be one of: ${error.params.allowedValues.join(', ')}.` }];
    default:
      return [{ path, message: `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.` }];
  }
}
