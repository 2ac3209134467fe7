export { type Algorithm, algorithms } from './algorithms.ts';
export type { AccessTokenClaims } from './claims.ts';
export type { DpopOptions, PresentedProof } from './dpop.ts';
export type { IntrospectionOptions } from './introspection.ts';
export type { Requirements } from './requirements.ts';
export { type ProtectedResource, protectedResource, type ResourceMetadata } from './resource-metadata.ts';
export { TokenError, type TokenErrorCode } from './token-error.ts';
export { type UsedProofs, usedProofsInMemory } from './used-proofs.ts';
export { createVerifier, type Verifier, type VerifierOptions, type VerifyOptions } from './verifier.ts';
