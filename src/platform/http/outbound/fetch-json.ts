import type { Outbound, OutboundAnswer } from './outbound.ts';
import { InternalTarget } from './reachable.ts';

/** Problem: what came instead, in a sentence for those who run the target. */
type Fetched = { json: unknown; headers: OutboundAnswer['headers'] } | { problem: string };

/**
 * Reads a JSON document from an address that a user names. What is longer than it may be is refused, not cut, since the
 * beginning of a document may mean something else; so is an answer that did not arrive as a whole.
 * @param accept media types, as the header has them.
 */
export async function fetchJson(
  { outbound }: { outbound: Outbound },
  { url, accept, maxBytes }: { url: string; accept: string; maxBytes: number },
): Promise<Fetched> {
  try {
    // One byte more than it may have shows that it has more.
    const answer = await outbound.send({ method: 'GET', url, headers: { accept }, readBytes: maxBytes + 1 });
    const { status, headers, body, isWhole } = answer;
    if (status >= 300 && status < 400) return { problem: `It redirects (${status}), which is not followed.` };
    if (status !== 200) return { problem: `It responded with ${status}.` };
    if (body.length > maxBytes) return { problem: `It responded with more than ${maxBytes / 1024} KB.` };
    if (!isWhole) return { problem: 'Its response did not arrive as a whole within a second.' };
    return { json: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)), headers };
  } catch (error) {
    if (error instanceof InternalTarget) return { problem: error.message };
    if (error instanceof SyntaxError || error instanceof TypeError) return { problem: 'It responded with no JSON.' };
    const { code = 'no response' } = error as NodeJS.ErrnoException;
    return { problem: `It could not be reached: ${code}.` };
  }
}
