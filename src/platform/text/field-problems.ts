import type { TLocalizedValidationError } from 'typebox/error';

/** What is wrong with one field; `path` is a JSON pointer without its first slash, empty for the whole body. */
type Problem = { path: string; message: string };
export type ShapeError = TLocalizedValidationError;

/**
 * What TypeBox found, in our words where its own would repeat what was sent, or help nobody. It stops at eight, which
 * keeps the answer to a hostile body short; there is always at least one.
 */
export function shapeProblems(errors: readonly ShapeError[]): Problem[] {
  const nullables = new Set(errors.filter(isNullBranch).map(unionOf));
  const telling = errors.filter((error) => error.keyword !== 'anyOf' && !isNullBranch(error));
  const problems = (telling.length > 0 ? telling : errors).flatMap((error) =>
    problemsOf(error).map((problem) =>
      error.keyword === 'type' && nullables.has(unionOf(error)) ? orNull(problem) : problem,
    ),
  );
  const isFirst = ({ path, message }: Problem, place: number) =>
    problems.findIndex((other) => other.path === path && other.message === message) === place;
  return problems.filter(isFirst);
}

/** Of what may be null and is something else: its other branch says what is wrong with that. */
const isNullBranch = (error: ShapeError) =>
  error.keyword === 'type' && error.params.type === 'null' && unionOf(error) !== undefined;

/** The union that a branch belongs to, where the error is the branch's own and not one of its members'. */
const unionOf = ({ schemaPath }: ShapeError) => /^(.*\/anyOf)\/\d+$/.exec(schemaPath)?.[1];

const orNull = ({ path, message }: Problem): Problem => ({ path, message: message.replace(/\.$/, ' or null.') });

function problemsOf(error: ShapeError): Problem[] {
  const path = error.instancePath.slice(1);
  switch (error.keyword) {
    case 'boolean': // said for each unknown member, with the name that was sent in its path
    case 'additionalProperties': // said once, after them
      return [{ path: '', message: 'Contains an unknown member. Only the documented members can be set.' }];
    case 'required':
      return error.params.requiredProperties.map((name) => ({ path: name, message: 'Is required.' }));
    case 'enum':
      return [{ path, message: `Must be one of: ${error.params.allowedValues.join(', ')}.` }];
    default:
      return [{ path, message: `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.` }];
  }
}
