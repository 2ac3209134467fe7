/** What we use of it (https://sodium-friends.github.io/docs/docs/signing). Each writes into its first argument. */
declare module 'sodium-native' {
  export type Sodium = {
    crypto_sign_detached(signature: Buffer, message: Buffer, secretKey: Buffer): void;
    crypto_sign_verify_detached(signature: Buffer, message: Buffer, publicKey: Buffer): boolean;
  };
  const sodium: Sodium;
  export default sodium;
}
