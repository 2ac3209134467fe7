/** A 200 with JSON, or an error. */
export type FetchJson = (url: string, init?: RequestInit) => Promise<{ json: unknown; headers: Headers }>;

/** A 200 with text, or an error. */
export type FetchText = (url: string, init?: RequestInit) => Promise<{ text: string; headers: Headers }>;

/** The largest answer that is read. Signet's are below 5 KB, but for status lists, of which the largest has 234 KB. */
const maxBytes = 256 * 1024;

/**
 * Follows no redirect: it would lead to an address that was not checked, and could take the credentials along.
 * @param fetchOption ends after the time limit even if it ignores its signal.
 */
export function boundedFetch(fetchOption: typeof fetch | undefined, seconds: number): FetchText {
  return async (url, init) => {
    const abort = new AbortController();
    const signal = abort.signal;
    const answer = async () => {
      const send = fetchOption ?? globalThis.fetch;
      const headers = { accept: 'application/json', ...init?.headers };
      const response = await send(url, { ...init, headers, redirect: 'manual', signal });
      if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
      return { text: await readText(response, url), headers: response.headers };
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${url} did not answer within ${seconds} s`)), seconds * 1000);
    });
    try {
      return await Promise.race([answer(), timeout]);
    } finally {
      clearTimeout(timer);
      abort.abort(); // whatever is still being sent is not wanted
    }
  };
}

export const jsonBy =
  (fetchText: FetchText): FetchJson =>
  async (url, init) => {
    const { text, headers } = await fetchText(url, init);
    return { json: JSON.parse(text), headers };
  };

async function readText(response: Response, url: string): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let bytes = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    bytes += part.value.byteLength;
    if (bytes > maxBytes) throw new Error(`${url} answered with more than ${maxBytes} bytes`);
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
