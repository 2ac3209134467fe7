import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** A response, read whole. `json` is undefined when the body is not JSON; `location` is empty without that header. */
export type Answer = {
  status: number;
  headers: Headers;
  location: string;
  text: string;
  json: Record<string, unknown> | undefined;
};

/** A page without the ids of its forms, which are other ones each time it is shown. */
export const withoutFormIds = (text: string): string => text.replace(/value="fm_[\w-]+"/g, 'value=""');

/** A browser as far as HTTP goes: keeps cookies of one origin, follows nothing, sends what its own pages would. */
export type Browser = {
  cookies: Map<string, string>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  postJson(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** A POST without a body, as a script of our own pages sends it. */
  postEmpty(path: string): Promise<Answer>;
  patch(path: string, body: unknown): Promise<Answer>;
  put(path: string, body: unknown): Promise<Answer>;
  delete(path: string, body?: unknown): Promise<Answer>;
  send(path: string, init: RequestInit): Promise<Answer>;
};

export function newBrowser(origin: string): Browser {
  const cookies = new Map<string, string>();

  async function send(path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = new Headers(init.headers);
    if (cookies.size > 0 && !headers.has('cookie')) {
      headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    }
    const answer = await ask(new URL(path, origin), { ...init, headers });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  }

  const sendJson = (method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(path, {
      method,
      body: JSON.stringify(body),
      headers: { origin, 'content-type': 'application/json', ...headers },
    });

  return {
    cookies,
    send,
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, fields = {}, headers = {}) =>
      send(path, { method: 'POST', body: new URLSearchParams(fields), headers: { origin, ...headers } }),
    postJson: (path, body, headers) => sendJson('POST', path, body, headers),
    postEmpty: (path) => send(path, { method: 'POST', headers: { origin } }),
    patch: (path, body) => sendJson('PATCH', path, body),
    put: (path, body) => sendJson('PUT', path, body),
    delete: (path, body) =>
      body === undefined ? send(path, { method: 'DELETE', headers: { origin } }) : sendJson('DELETE', path, body),
  };
}

/** What `fetch` adds to each request. */
const defaults = { accept: '*/*', 'accept-language': '*', 'sec-fetch-mode': 'cors', 'user-agent': 'node' };

/**
 * Sends what `fetch` would send, and follows no redirect. `fetch` spends as much on its streams as a server does on its
 * answer, and tests send a hundred thousand requests.
 */
export async function ask(url: string | URL, init: RequestInit = {}): Promise<Answer> {
  const { method = 'GET', body, headers: given, ...rest } = init;
  if ((body && typeof body !== 'string' && !(body instanceof URLSearchParams)) || Object.keys(rest).length > 0) {
    return readAnswer(await fetch(url, { redirect: 'manual', ...init }));
  }
  const sent = { ...defaults, ...Object.fromEntries(new Headers(given)) };
  const content = body?.toString();
  const type = typeof body === 'string' ? 'text/plain' : 'application/x-www-form-urlencoded';
  const ofBody = content !== undefined && {
    'content-type': `${type};charset=UTF-8`,
    'content-length': String(Buffer.byteLength(content)),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers: { ...ofBody, ...sent } }, (response) => {
      const { statusCode = 0, rawHeaders } = response;
      const headers = new Headers();
      for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
      text(response).then((content) => resolve(answerOf(statusCode, headers, content)), reject);
    });
    outgoing.on('error', reject).end(content);
  });
}

export async function readAnswer(response: Response): Promise<Answer> {
  return answerOf(response.status, response.headers, await response.text());
}

function answerOf(status: number, headers: Headers, text: string): Answer {
  let json: Record<string, unknown> | undefined;
  try {
    json = JSON.parse(text);
  } catch {}
  return { status, headers, location: headers.get('location') ?? '', text, json };
}
