import type { RefusalReason } from '../../audit/unauthenticated.ts';
import { counter } from '../../platform/metrics.ts';
import type { Method } from './authentication.ts';

const signIns = counter(
  'signet_sign_ins_total',
  'Sign-ins by first factor and result: succeeded, second_factor_asked, or why it was refused.',
  'method',
  'result',
);

const names: Partial<Record<Method, string>> = { pwd: 'password', hwk: 'passkey', fed: 'provider', otp: 'mail_code' };

/** @param methods the first factor first. */
export const countSignIn = (
  [first]: readonly Method[],
  result: 'succeeded' | 'second_factor_asked' | 'wrong_code' | 'codes_disabled' | RefusalReason,
): void => signIns.count((first && names[first]) ?? 'other', result);
