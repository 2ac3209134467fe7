import { hash } from 'node:crypto';

/** base64url of a SHA-256 is 43 characters, and its last one carries four bits only (RFC 7636 §4.2). */
export const isCodeChallenge = (text: string): boolean => /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(text);

/** 43 to 128 unreserved characters (RFC 7636 §4.1). */
export const isCodeVerifier = (text: string): boolean => /^[A-Za-z0-9._~-]{43,128}$/.test(text);

/** S256: BASE64URL(SHA256(ASCII(code_verifier))) (RFC 7636 §4.2). */
export const codeChallengeOf = (code_verifier: string): string => hash('sha256', code_verifier, 'base64url');
