/** What Signet signs with. `Ed25519` is the name that RFC 9864 gives to `EdDSA` with that curve. */
export const algorithms = ['EdDSA', 'Ed25519', 'RS256'] as const;

export type Algorithm = (typeof algorithms)[number];
