import type { MessageKey } from '../i18n/translate.ts';

export type Role = 'user' | 'admin';

/** A person's account, as every capability may see it. Times are Unix seconds. */
export type User = {
  user_id: string;
  email: string;
  email_verified_at: number | null;
  name: string | null;
  picture: string | null;
  role: Role;
  locale: string | null;
  disabled_at: number | null;
  created_at: number;
  updated_at: number;
};

/**
 * What two spellings of one address have in common: composed Unicode, lower case. The local part is case-sensitive by
 * RFC 5321 §2.4 and nowhere in practice; two accounts that differ in case alone would be a trap for their owners.
 */
export const emailKey = (email: string): string => email.trim().normalize('NFKC').toLowerCase();

/** One `@`, something on both sides, a dot in the domain or localhost, no spaces or controls; 254 at most (RFC 5321). */
export function emailProblem(email: string): MessageKey | undefined {
  const trimmed = email.trim();
  if (trimmed.length === 0) return 'problem.email.missing';
  if (trimmed.length > 254) return 'problem.email.long';
  if (!/^[^\s@<>()[\],;:"\\\p{C}]+@[^\s@<>()[\],;:"\\\p{C}]+$/u.test(trimmed)) {
    return 'problem.email.malformed';
  }
  return undefined;
}
