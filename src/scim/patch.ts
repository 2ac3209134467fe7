import { scimError } from './errors.ts';

export type PatchOperation = { op: 'add' | 'remove' | 'replace'; path: string | undefined; value: unknown };

const mostOperations = 1000;

const invalidSyntax = (detail: string) => scimError(400, 'invalidSyntax', detail);

/** @throws {RequestError} with `invalidSyntax`. */
export function readObject(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalidSyntax('The body must be a JSON object, sent as application/scim+json.');
  return body as Record<string, unknown>;
}

/** Names of members have no case here: some directories write `operations`. */
const lowerCase = (object: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name.toLowerCase(), value]));

/** @throws {RequestError} with `invalidSyntax`, also for more operations than there may be. */
export function readPatch(body: unknown): readonly PatchOperation[] {
  const { operations } = lowerCase(readObject(body));
  if (!Array.isArray(operations) || operations.length === 0) throw invalidSyntax('A PATCH has a list Operations.');
  if (operations.length > mostOperations) throw invalidSyntax(`A PATCH has at most ${mostOperations} operations.`);
  return operations.map(readOperation);
}

function readOperation(sent: unknown): PatchOperation {
  if (typeof sent !== 'object' || sent === null) throw invalidSyntax('An operation is an object.');
  const { op, path, value } = lowerCase(sent);
  const name = typeof op === 'string' ? op.toLowerCase() : op; // Entra ID writes `Add`
  if (name !== 'add' && name !== 'remove' && name !== 'replace')
    throw invalidSyntax('An operation is add, remove or replace.');
  if (path !== undefined && path !== null && typeof path !== 'string') throw invalidSyntax('A path is a string.');
  if (name !== 'remove' && value === undefined) throw invalidSyntax(`The operation ${name} needs a value.`);
  return { op: name, path: path || undefined, value };
}
