import { inEnglish, type MessageDescriptor, type MessageKey } from './i18n/translate.ts';

/** Every refusal that Signet gives, and the status that carries it (decisions §1). */
export const statusOf = {
  invalid_request: 400,
  invalid_grant: 400,
  invalid_scope: 400,
  invalid_target: 400,
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  invalid_request_object: 400,
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  unsupported_response_type: 400,
  unmet_authentication_requirements: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  registration_not_supported: 400,
  unsupported_grant_type: 400,
  unauthorized_client: 400,
  invalid_code: 400,
  invalid_client: 401,
  invalid_token: 401,
  login_required: 401,
  access_denied: 403,
  insufficient_scope: 403,
  reauthentication_required: 403,
  not_found: 404,
  unknown_user: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  invalid_state: 409,
  stale_revision: 409,
  stale_version: 409,
  content_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  rate_limited: 429,
  headers_too_large: 431,
  server_error: 500,
  upstream_failed: 502,
  temporarily_unavailable: 503,
} as const;

export type ErrorCode = keyof typeof statusOf;

/** A path on our own origin, and what a button that leads there says. */
export type ExitLink = { path: string; label: MessageKey };

/**
 * Thrown to refuse a request. The caller reads `code`, `message` and `details`; `cause` is for our log alone.
 * `message` becomes `error_description`: printable ASCII without `"` and `\` (RFC 6749 §5.2), and never what was sent.
 */
export class RequestError extends Error {
  override name = 'RequestError';
  readonly code: ErrorCode;
  readonly status: number;
  /** Additional members of the JSON body, such as `fields` or `current_status`. */
  readonly details: Record<string, unknown>;
  /** Seconds for `Retry-After`. */
  readonly retryAfter: number | undefined;
  /** The scope that a token lacks, for the challenge (RFC 6750 §3.1). */
  readonly scope: string | undefined;
  /** What a page shows instead of `message`, in its reader's language. */
  readonly userMessage: MessageDescriptor | undefined;
  /** Of the answer, beside those that follow from the code. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is wrong with which field, for a form to show. */
  readonly problems: readonly FieldProblem[];
  /** The button on the page of the error. */
  readonly exit: ExitLink | undefined;
  /** Where the developer of the client reads more than its users should: a path on our own origin. */
  readonly developerPath: string | undefined;
  /** The page that a browser is sent to first, and then back; of codes that ask for a sign-in. */
  readonly signInPage: string | undefined;
  /** What the page of the error is titled, where the code alone does not tell. */
  readonly title: MessageDescriptor | undefined;
  /** What the client sent, by the name of its parameter, for its developer. */
  readonly sent: Readonly<Record<string, string | undefined>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; status?: number } & Partial<
      Pick<
        RequestError,
        | 'details'
        | 'retryAfter'
        | 'headers'
        | 'scope'
        | 'userMessage'
        | 'problems'
        | 'exit'
        | 'developerPath'
        | 'signInPage'
        | 'title'
        | 'sent'
      >
    > = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? statusOf[code];
    this.details = options.details ?? {};
    this.retryAfter = options.retryAfter;
    this.headers = options.headers ?? {};
    this.scope = options.scope;
    this.userMessage = options.userMessage;
    this.problems = options.problems ?? [];
    this.exit = options.exit;
    this.developerPath = options.developerPath;
    this.signInPage = options.signInPage;
    this.title = options.title;
    this.sent = options.sent ?? {};
  }
}

/** `path` is a JSON pointer without its first slash; `message` is for programs, `userMessage` for people. */
export type FieldProblem = { path: string; message: string; userMessage?: MessageDescriptor };

/** The same sentence for people and programs. */
export const fieldProblem = (path: string, userMessage: MessageDescriptor): FieldProblem => ({
  path,
  message: inEnglish(userMessage),
  userMessage,
});

/** With a message for people. */
export const refusal = (
  code: ErrorCode,
  userMessage: MessageDescriptor,
  options: { cause?: unknown } & Partial<Pick<RequestError, 'details' | 'exit' | 'retryAfter' | 'title'>> = {},
) => new RequestError(code, inEnglish(userMessage), { ...options, userMessage });

export const invalidRequest = (description: string, cause?: unknown) =>
  new RequestError('invalid_request', description, { cause });
export const invalidFields = (problems: readonly FieldProblem[], cause?: unknown) =>
  new RequestError('invalid_request', 'Some fields are invalid. Nothing was changed.', {
    cause,
    details: { fields: problems.map(({ path, message }) => ({ path, message })) },
    problems,
  });
/** Of what one account alone may have: valid in itself, but another one has it (decisions §1). */
export function takenField(path: string, userMessage: MessageDescriptor): RequestError {
  const problem = fieldProblem(path, userMessage);
  return new RequestError('invalid_state', 'Another account has this already. Nothing was changed.', {
    details: { current_status: 'taken', fields: [{ path, message: problem.message }] },
    problems: [problem],
  });
}
export const invalidClient = (cause?: unknown, description = 'Client authentication failed.') =>
  new RequestError('invalid_client', description, { cause });
export const invalidToken = (cause?: unknown) =>
  new RequestError('invalid_token', 'The access token is expired, revoked or invalid.', { cause });
export const accessDenied = (description: string) => new RequestError('access_denied', description);
export const loginRequired = () =>
  new RequestError('login_required', 'Sign in first; there is no active session.', { signInPage: '/signin' });
export const insufficientScope = (scope: string) =>
  new RequestError('insufficient_scope', `The access token does not have the scope ${scope}.`, { scope });
/**
 * @param max_age how old the sign-in may be, in seconds.
 * @param acr_values the class that it lacks, under the name that RFC 9470 §3 has for it.
 */
export const reauthenticationRequired = (max_age: number, acr_values?: string) =>
  new RequestError(
    'reauthentication_required',
    acr_values === undefined
      ? `Sign in again first: this requires a sign-in within the last ${max_age / 60} minutes.`
      : 'Confirm with your second factor first: this account has a passkey or an authenticator app, so a password, a link or a provider alone is not enough.',
    { details: { max_age, ...(acr_values === undefined ? {} : { acr_values }) }, signInPage: '/signin/confirm' },
  );
/** Like {@link reauthenticationRequired}, of an account that has no second factor to confirm with. */
export const enrollmentRequired = (max_age: number, acr_values: string) =>
  new RequestError(
    'reauthentication_required',
    'Set up a second factor first: this service requires one, and the account has neither a passkey nor an authenticator app.',
    { details: { max_age, acr_values }, signInPage: '/signin/set-up' },
  );
export const notFound = () => new RequestError('not_found', 'Not found.');
export const invalidState = (current_status: string) =>
  new RequestError('invalid_state', `The current state, ${current_status}, does not allow this.`, {
    details: { current_status },
  });
export const staleRevision = (stored_revision: number) =>
  new RequestError('stale_revision', 'This was changed in the meantime. Read the current version before you decide.', {
    details: { stored_revision },
  });
export const rateLimited = (retryAfter: number) =>
  new RequestError('rate_limited', 'Too many attempts. Wait, then try again.', { retryAfter });
export const unavailable = (cause?: unknown) =>
  new RequestError('temporarily_unavailable', 'Signet is temporarily unavailable. Nothing was changed; try again.', {
    cause,
    retryAfter: 2,
  });
/** Of an act that stood still until it was given up. What it has claimed is no change of which the answer is to warn. */
export const tookTooLong = () =>
  new RequestError('temporarily_unavailable', 'This took too long, so nothing was changed. Try again.', {
    retryAfter: 2,
    userMessage: { key: 'refusal.temporarily_unavailable' },
  });
export const serverError = (cause?: unknown) =>
  new RequestError('server_error', 'An unexpected error occurred. It has been logged.', { cause });
/** A change was sent to the store and not confirmed, so an answer may promise neither that it was kept nor that not. */
export const outcomeUnknown = (cause?: unknown) =>
  new RequestError(
    'temporarily_unavailable',
    'Signet could not confirm the change. It may or may not have been saved: check before you repeat it. A token request may be repeated as it is.',
    { cause, retryAfter: 2, userMessage: { key: 'refusal.outcome_unknown' } },
  );

/** For the operator: which setting, what is wrong with it, and what it accepts. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}
