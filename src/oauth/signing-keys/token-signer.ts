import { hash, type KeyObject } from 'node:crypto';
import type { SigningAlgorithm } from '../../clients/choices.ts';
import { edwardsSecretKey, type Sign } from './signatures.ts';
import type { SigningThread, ThreadKey, Tokens, Unsigned } from './signing-thread.ts';
import { halfOfHash, signingInput, withAccessTokenHash } from './token-text.ts';

/** For fewer, the messages to a thread take as long as the signatures. */
const smallestBatch = 4;
const largestBatch = 16;
/** Characters of claims; the thread has little memory. */
const longest = 16_384;
/** One that the thread signs, and one that is there when it has done so. */
const batchesAhead = 2;

export type TokenSigner = (unsigned: Unsigned) => Promise<Tokens>;
type Key = { kid: string; algorithm: SigningAlgorithm; sign: Sign; accessHeader: string; idHeader: string };

/**
 * Signs access tokens with the ID tokens that belong to them. When many grants are committed together, they wait for their
 * tokens together: a thread and the event loop then share the work, since two signatures are a third of a token request.
 */
export function tokenSignerOf(key: Key, privateKey: KeyObject, thread: SigningThread): TokenSigner {
  if (key.algorithm !== 'EdDSA') return (unsigned) => signTokens(unsigned, key); // OpenSSL signs in the thread pool
  const { kid, accessHeader, idHeader } = key;
  let threadKey: ThreadKey | undefined;
  type Waiting = PromiseWithResolvers<Tokens> & { unsigned: Unsigned };
  const waiting: Waiting[] = [];
  let underWay = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.length === 0) return;
    scheduled = true;
    setImmediate(takeTurn);
  }

  /** While the thread works, a turn of the event loop signs one: the less else it has to do, the larger is its share. */
  function takeTurn(): void {
    scheduled = false;
    handOver();
    signHere(waiting.splice(0, underWay === 0 ? waiting.length : 1));
    schedule();
  }

  function handOver(): void {
    while (waiting.length >= smallestBatch && underWay < batchesAhead) {
      threadKey ??= { kid, accessHeader, idHeader, secretKey: edwardsSecretKey(privateKey) };
      const batch = waiting.slice(0, largestBatch);
      const signed = thread.sign(
        threadKey,
        batch.map(({ unsigned }) => unsigned),
      );
      if (!signed) return;
      waiting.splice(0, batch.length);
      underWay += 1;
      void answer(batch, signed);
    }
  }

  async function answer(batch: readonly Waiting[], signed: Promise<Tokens[]>): Promise<void> {
    const tokens = await signed.catch(() => undefined);
    underWay -= 1;
    handOver();
    if (tokens) for (const [index, { resolve }] of batch.entries()) resolve(tokens[index]!);
    else signHere(batch);
  }

  function signHere(own: readonly Waiting[]): void {
    for (const { unsigned, resolve, reject } of own) signTokens(unsigned, key).then(resolve, reject);
  }

  return (unsigned) => {
    if (unsigned.access.length + (unsigned.id?.length ?? 0) > longest) return signTokens(unsigned, key);
    const one = { ...Promise.withResolvers<Tokens>(), unsigned };
    waiting.push(one);
    schedule();
    return one.promise;
  };
}

async function signTokens({ access, id }: Unsigned, key: Key): Promise<Tokens> {
  const access_token = await signCompact(key.accessHeader, access, key.sign);
  if (id === undefined) return { access_token };
  const claims = withAccessTokenHash(id, accessTokenHash(key.algorithm, access_token));
  return { access_token, id_token: await signCompact(key.idHeader, claims, key.sign) };
}

/** @param header encoded. @param claims JSON. @returns a compact JWS (RFC 7515 §7.1). */
export async function signCompact(header: string, claims: string, sign: Sign): Promise<string> {
  const input = signingInput(header, claims);
  return `${input}.${(await sign(Buffer.from(input))).toString('base64url')}`;
}

/** By the hash of the signature algorithm; for Ed25519 that is SHA-512 (OIDC Core §3.1.3.6). */
export const accessTokenHash = (algorithm: SigningAlgorithm, access_token: string): string =>
  halfOfHash(hash(algorithm === 'EdDSA' ? 'sha512' : 'sha256', access_token, 'buffer'));
