import { RequestError, type statusOf } from '../platform/errors.ts';

/** RFC 7644 §3.12, Table 9. */
export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';

/** @param detail a sentence for the person who looks into the provisioning log of the directory. */
export const scimError = (status: 400 | 403 | 409, scimType: ScimType, detail: string): RequestError =>
  new RequestError(codes[status], detail, { status, details: { scimType } });

const codes = { 400: 'invalid_request', 403: 'access_denied', 409: 'invalid_state' } as const;

export const invalidValue = (detail: string) => scimError(400, 'invalidValue', detail);

/** RFC 7644 §3.14. */
export const outdated = () =>
  new RequestError('stale_version', 'The resource has changed since: read it again.', { status: 412 });

export const messageType = 'application/scim+json; charset=utf-8';

/** What a program reads instead of our own body, of whatever a path below `/scim/v2` refuses. */
export function errorBody({ code, status, message, details, problems }: RequestError): object {
  const { scimType = typeOf(code, details) } = details;
  const sentences = problems.map((one) => `${one.path}: ${one.message}`);
  const detail = sentences.length > 0 ? sentences.join(' ') : message;
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...(scimType !== undefined && { scimType }),
    detail,
  };
}

function typeOf(code: keyof typeof statusOf, { current_status }: RequestError['details']): ScimType | undefined {
  if (code === 'invalid_state' && current_status === 'taken') return 'uniqueness';
  return code === 'invalid_request' ? 'invalidValue' : undefined;
}
