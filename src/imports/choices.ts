import { invalidFields } from '../platform/errors.ts';
import type { FirebaseHash } from './adapters/adapter.ts';

/** @throws {RequestError} `invalid_request`. */
export function readSource(typed: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/.test(typed)) return typed;
  const message = 'Must be up to 64 small letters, digits, dots, hyphens and underscores.';
  throw invalidFields([{ path: 'source', message }]);
}

export const commonFirebaseHash = 'n=14,r=8,ss=Bw==';

/** @param field for the refusal. @throws {RequestError} `invalid_request`. */
export function readFirebaseHash(typed = commonFirebaseHash, field = 'firebase-hash'): FirebaseHash {
  const [, n, r, ss] = /^n=(\d{1,2}),r=(\d{1,2}),ss=([A-Za-z0-9+/]*={0,2})$/.exec(typed) ?? [];
  if (n !== undefined && r !== undefined && ss !== undefined) return { n, r, ss };
  const message = `Must be like ${commonFirebaseHash}, from the password hash parameters of the project.`;
  throw invalidFields([{ path: field, message }]);
}
