/** Authentication method references (RFC 8176). `rba`: a browser that the user trusts stood in for the second factor. */
export type Method = 'pwd' | 'otp' | 'fed' | 'hwk' | 'mfa' | 'rba';

/** Authentication context classes. None is registered for "one factor" or "two factors", so these are our own. */
export const oneFactor = 'urn:signet:acr:1fa';
export const twoFactors = 'urn:signet:acr:2fa';
export const acrs = [oneFactor, twoFactors] as const;
export type Acr = (typeof acrs)[number];

export const acrOf = (methods: readonly Method[]): Acr => (methods.includes('mfa') ? twoFactors : oneFactor);
