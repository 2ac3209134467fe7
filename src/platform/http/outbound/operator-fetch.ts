/** `body`: its beginning, if it `isTooLarge`. */
type Fetched = { status: number; headers: Headers; body: Buffer<ArrayBuffer>; isTooLarge: boolean };

/**
 * The client for requests to addresses that the operator names: an issuer, our own base URL. These may well be internal, be found
 * by the search domains of the machine or through its proxy, and keep their connections, so `fetch` makes them. It follows no
 * redirect, and limits the size of an answer.
 * @throws as `fetch` does.
 */
export async function fetchForOperator(url: string, options: RequestInit, maxBytes: number): Promise<Fetched> {
  const response = await fetch(url, { ...options, redirect: 'manual' });
  const { status, headers } = response;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) return { status, headers, body: Buffer.concat(chunks), isTooLarge: true };
    chunks.push(chunk);
  }
  return { status, headers, body: Buffer.concat(chunks), isTooLarge: false };
}
