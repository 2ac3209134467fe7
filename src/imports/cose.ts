/**
 * The algorithm of a COSE key (RFC 9052 §7.1), if it is a map of small integers to integers and byte strings, as those of passkeys
 * are, and nothing follows it. WebAuthn §5.8.5 wants the canonical encoding, so each length has one form.
 */
export function coseAlgorithmOf(key: Buffer): number | undefined {
  let at = 0;

  /** @returns the major type and the argument of the next head (RFC 8949 §3). */
  function head(): [major: number, argument: number] {
    const first = key.readUInt8(at);
    at += 1;
    const [major, short] = [first >> 5, first & 31];
    if (short < 24) return [major, short];
    const bytes = { 24: 1, 25: 2, 26: 4 }[short];
    if (bytes === undefined) throw new RangeError('no such length in a key');
    at += bytes;
    return [major, key.readUIntBE(at - bytes, bytes)];
  }

  function integer(): number {
    const [major, argument] = head();
    if (major > 1) throw new RangeError('no integer');
    return major === 0 ? argument : -1 - argument;
  }

  function value(): number | undefined {
    const [major, argument] = head();
    if (major < 2) return major === 0 ? argument : -1 - argument;
    if (major !== 2) throw new RangeError('neither integer nor bytes');
    at += argument;
    return undefined;
  }

  try {
    const [major, members] = head();
    if (major !== 5) return undefined;
    let algorithm: number | undefined;
    for (let member = 0; member < members; member += 1) {
      const label = integer();
      const found = value();
      if (label === 3) algorithm = found;
    }
    return at === key.length ? algorithm : undefined;
  } catch {
    return undefined;
  }
}
