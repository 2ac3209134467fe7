export { type Algorithm, algorithms } from './algorithms.ts';
export type { AccessTokenClaims } from './claims.ts';
export type { IntrospectionOptions } from './introspection.ts';
export { TokenError, type TokenErrorCode } from './token-error.ts';
export { createVerifier, type Verifier, type VerifierOptions, type VerifyOptions } from './verifier.ts';
