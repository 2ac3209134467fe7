/** A response, read whole. `json` is undefined when the body is not JSON; `location` is empty without that header. */
export type Answer = {
  status: number;
  headers: Headers;
  location: string;
  text: string;
  json: Record<string, unknown> | undefined;
};

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
    const response = await fetch(new URL(path, origin), { redirect: 'manual', ...init, headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return readAnswer(response);
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

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  let json: Record<string, unknown> | undefined;
  try {
    json = JSON.parse(text);
  } catch {}
  const { status, headers } = response;
  return { status, headers, location: headers.get('location') ?? '', text, json };
}
