import type { Sodium } from 'sodium-native';

let loading: Promise<Sodium | undefined> | undefined;

/**
 * libsodium, if it was installed: an optional dependency. Its Ed25519 and its Argon2id need less processor time than OpenSSL's,
 * which do the same where it is missing. Loaded for the first signature or password, which few commands need.
 */
export function findSodium(): Promise<Sodium | undefined> {
  loading ??= import('sodium-native').then(
    (library) => library.default,
    () => undefined,
  );
  return loading;
}
