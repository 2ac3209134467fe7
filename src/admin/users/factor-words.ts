import type { listedRecord } from './read-user.ts';

/** In the words of the API, for commands and files. */
export const factorWords = ({
  password,
  totp,
  passkeys,
  providers,
}: ReturnType<typeof listedRecord>['factors']): string[] => [
  ...(password ? ['password'] : []),
  ...(totp === 'active' ? ['totp'] : []),
  ...(passkeys > 0 ? [passkeys === 1 ? 'passkey' : `passkey(${passkeys})`] : []),
  ...providers,
];
