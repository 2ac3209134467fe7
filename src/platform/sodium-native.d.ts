/** What we use of it (https://sodium-friends.github.io/docs/docs/api). Each writes into its first argument. */
declare module 'sodium-native' {
  export type Sodium = {
    crypto_sign_detached(signature: Buffer, message: Buffer, secretKey: Buffer): void;
    crypto_sign_verify_detached(signature: Buffer, message: Buffer, publicKey: Buffer): boolean;
    readonly crypto_pwhash_ALG_ARGON2ID13: number;
    readonly crypto_pwhash_SALTBYTES: number;
    readonly crypto_pwhash_BYTES_MIN: number;
    readonly crypto_pwhash_MEMLIMIT_MIN: number;
    /** In the thread pool. @param opslimit passes. @param memlimit bytes. */
    crypto_pwhash_async(
      tag: Buffer,
      password: Buffer,
      salt: Buffer,
      opslimit: number,
      memlimit: number,
      algorithm: number,
      callback: (error: Error | null) => void,
    ): void;
  };
  const sodium: Sodium;
  export default sodium;
}
