/** Authentication method references (RFC 8176): what happened, nothing more. */
export type Method = 'pwd' | 'otp' | 'fed' | 'hwk' | 'mfa';

/** Authentication context classes. There is no registered name for "one factor" or "two", so these are ours. */
export type Acr = 'urn:signet:acr:1fa' | 'urn:signet:acr:2fa';

/** Never claims a level that was not reached. */
export const acrOf = (methods: readonly Method[]): Acr =>
  methods.includes('mfa') ? 'urn:signet:acr:2fa' : 'urn:signet:acr:1fa';
