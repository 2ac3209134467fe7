/** Authentication method references (RFC 8176): what happened, nothing more. */
export type Method = 'pwd' | 'otp' | 'fed' | 'hwk' | 'mfa';

/** Authentication context classes. There is no registered name for "one factor" or "two", so these are ours. */
export const oneFactor = 'urn:signet:acr:1fa';
export const twoFactors = 'urn:signet:acr:2fa';
export const acrs = [oneFactor, twoFactors] as const;
export type Acr = (typeof acrs)[number];

/** Never claims a level that was not reached. */
export const acrOf = (methods: readonly Method[]): Acr => (methods.includes('mfa') ? twoFactors : oneFactor);
