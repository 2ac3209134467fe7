/**
 * The commands of W3C WebDriver (https://www.w3.org/TR/webdriver2/) that the cases need, and the way that each browser takes them:
 * drivers over HTTP, Firefox as the messages of Marionette that its driver would translate them into, so that no driver has to be
 * installed for it (https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html).
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Method, path within the session, and Marionette's name. `{id}` is taken from the parameters. */
const commands = {
  navigate: ['POST', 'url', 'WebDriver:Navigate'],
  back: ['POST', 'back', 'WebDriver:Back'],
  refresh: ['POST', 'refresh', 'WebDriver:Refresh'],
  findElements: ['POST', 'elements', 'WebDriver:FindElements'],
  click: ['POST', 'element/{id}/click', 'WebDriver:ElementClick'],
  clear: ['POST', 'element/{id}/clear', 'WebDriver:ElementClear'],
  type: ['POST', 'element/{id}/value', 'WebDriver:ElementSendKeys'],
  execute: ['POST', 'execute/sync', 'WebDriver:ExecuteScript'],
  act: ['POST', 'actions', 'WebDriver:PerformActions'],
  windows: ['GET', 'window/handles', 'WebDriver:GetWindowHandles'],
  switchTo: ['POST', 'window', 'WebDriver:SwitchToWindow'],
  resize: ['POST', 'window/rect', 'WebDriver:SetWindowRect'],
  deleteCookies: ['DELETE', 'cookie', 'WebDriver:DeleteAllCookies'],
  screenshot: ['GET', 'screenshot', 'WebDriver:TakeScreenshot'],
  addAuthenticator: ['POST', 'webauthn/authenticator', 'WebAuthn:AddVirtualAuthenticator'],
  removeAuthenticator: ['DELETE', 'webauthn/authenticator/{authenticatorId}', 'WebAuthn:RemoveVirtualAuthenticator'],
} as const;

export type CommandName = keyof typeof commands;
type Parameters = Readonly<Record<string, unknown>>;

/** Sends one command. @throws {DriverError} what the browser answers instead of a value. */
export type Driver = {
  /** Name and version of the browser. */
  about: string;
  send(name: CommandName, parameters?: Parameters): Promise<unknown>;
  close(): Promise<void>;
};

type Session = { sessionId: string; capabilities: { browserName: string; browserVersion: string } };

const aboutOf = ({ capabilities: { browserName, browserVersion } }: Session) => `${browserName} ${browserVersion}`;

export type Capabilities = Readonly<Record<string, unknown>>;

/** `code`: as WebDriver §6.6 lists them, `stale element reference` among them. */
export class DriverError extends Error {
  readonly code: string;

  constructor(command: string, { error, message }: { error: string; message: string }) {
    super(`${command}: ${error}: ${message}`);
    this.code = error;
  }
}

/** The browser or its driver has gone, or answers no more: nothing is known of the pages that it showed. */
export class DriverLost extends Error {}

/** A command that gets no answer would be waited for without an end. */
const patienceMs = 120_000;

/** @param address of a driver that has been started, `http://127.0.0.1:4444`. */
export async function openOverHttp(address: string, alwaysMatch: Capabilities): Promise<Driver> {
  const ask = async (method: string, path: string, body?: Parameters) => {
    const { ok, value } = await fetch(`${address}/session${path}`, {
      method,
      signal: AbortSignal.timeout(patienceMs),
      ...(method === 'POST' && { body: JSON.stringify(body ?? {}), headers: { 'content-type': 'application/json' } }),
    })
      .then(async (answer) => ({ ok: answer.ok, ...((await answer.json()) as { value: unknown }) }))
      .catch((cause: Error) => {
        throw new DriverLost(`${method} ${path}: ${cause.message}`, { cause });
      });
    if (!ok) throw new DriverError(`${method} ${path}`, value as { error: string; message: string });
    return value;
  };
  const session = (await ask('POST', '', { capabilities: { alwaysMatch } })) as Session;
  const { sessionId } = session;
  return {
    about: aboutOf(session),
    send: (name, parameters = {}) => {
      const [method, path] = commands[name];
      return ask(
        method,
        `/${sessionId}/${path.replace(/\{(\w+)\}/, (_, key: string) => String(parameters[key]))}`,
        parameters,
      );
    },
    close: async () => void (await ask('DELETE', `/${sessionId}`)),
  };
}

export async function openMarionette(port: number, capabilities: Capabilities): Promise<Driver> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const waiting = new Map<number, { command: string; resolve(value: unknown): void; reject(error: Error): void }>();
  readPackets(socket, (packet) => {
    if (!Array.isArray(packet)) return; // the greeting
    const [, id, error, result] = packet as [1, number, { error: string; message: string } | null, unknown];
    const { command, resolve, reject } = waiting.get(id)!;
    waiting.delete(id);
    if (error) reject(new DriverError(command, error));
    else resolve(result !== null && typeof result === 'object' && 'value' in result ? result.value : result);
  });
  const fail = () => {
    for (const { command, reject } of waiting.values()) reject(new DriverLost(`${command}: the browser is gone`));
    waiting.clear();
  };
  socket.on('close', fail).on('error', fail);
  let id = 0;
  const ask = async (command: string, parameters: Parameters) => {
    id += 1;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    waiting.set(id, { command, resolve, reject });
    const text = JSON.stringify([0, id, command, parameters]);
    socket.write(`${Buffer.byteLength(text)}:${text}`);
    const lost = new DriverLost(`${command}: no answer for ${patienceMs / 1000} s`);
    const timer = setTimeout(() => reject(lost), patienceMs);
    return promise.finally(() => clearTimeout(timer));
  };
  const session = (await ask('WebDriver:NewSession', capabilities)) as Session;
  return {
    about: aboutOf(session),
    send: (name, parameters = {}) => ask(commands[name][2], parameters),
    close: async () => void socket.destroy(),
  };
}

/** Each packet is its length in bytes, a colon, and JSON. */
function readPackets(socket: Socket, take: (packet: unknown) => void): void {
  let buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk]);
    for (;;) {
      const colon = buffer.indexOf(':');
      const end = colon + 1 + Number(buffer.subarray(0, Math.max(0, colon)).toString());
      if (colon < 0 || buffer.length < end) return;
      take(JSON.parse(buffer.subarray(colon + 1, end).toString()));
      buffer = buffer.subarray(end);
    }
  });
}
