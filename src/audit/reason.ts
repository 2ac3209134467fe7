import { fieldProblem, invalidFields } from '../platform/errors.ts';

/**
 * Why somebody was stopped, as the log keeps it and its subject may read it: a few words that show as they were written.
 * @throws {RequestError} `invalid_request` for nothing, for more than 500 characters, and for control characters.
 */
export function readReason(text: string): string {
  const reason = text.trim().replaceAll('\r\n', '\n'); // as a form sends its line breaks
  if (reason === '' || reason.length > 500 || /[^\P{C}\n]/u.test(reason)) {
    throw invalidFields([fieldProblem('reason', { key: 'problem.reason' })]);
  }
  return reason;
}
