import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** The network between a client and its server, for a test to break. */
export type TcpProxy = {
  /** The address of the server as seen through the network. */
  url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Lets everything through again, to the same server or, with its address, to another one. */
  mend(serverUrl?: string): Promise<void>;
  /** New connections go to another server; those that are open stay where they are. */
  lead(serverUrl: string): void;
  /** Keeps connections up and delivers nothing more from the server. */
  silence(): void;
  /** The same for each connection once the server has sent these bytes over it. */
  silenceAfter(bytes: Buffer): void;
  /** Lets new connections through again. Those that are silent stay so. */
  speak(): void;
  /** Ends each connection that sends what `isRefused` says. */
  refuse(isRefused: (bytes: Buffer) => boolean): void;
};

export async function tcpProxy(t: TestContext, serverUrl: string): Promise<TcpProxy> {
  let target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const mute = new WeakSet<Socket>();
  let silent = false;
  let lastBytes: Buffer | undefined;
  let isRefused = (_bytes: Buffer) => false;
  let listener: Server | undefined;

  function forward(client: Socket): void {
    const server = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => {
        if (from === client && isRefused(chunk)) client.destroy();
        if (silent) mute.add(server);
        if (!mute.has(from)) to.write(chunk);
        if (from === server && lastBytes && chunk.includes(lastBytes)) mute.add(server);
      });
      from.on('error', () => undefined); // 'close' follows
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }
  async function listen(port: number): Promise<number> {
    silent = false;
    listener = createServer(forward).listen(port, '127.0.0.1');
    await once(listener, 'listening');
    return (listener.address() as AddressInfo).port;
  }
  async function cut(): Promise<void> {
    const closed = new Promise((resolve) => (listener ? listener.close(resolve) : resolve(undefined)));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  const port = await listen(0);
  t.after(cut);
  const url = new URL(serverUrl);
  url.port = String(port);
  return {
    url: url.href,
    cut,
    mend: async (to = serverUrl) => {
      target = new URL(to);
      await listen(port);
    },
    lead: (to) => {
      target = new URL(to);
    },
    silence: () => {
      silent = true;
    },
    refuse: (where) => {
      isRefused = where;
    },
    silenceAfter: (bytes) => {
      lastBytes = bytes;
    },
    speak: () => {
      silent = false;
      lastBytes = undefined;
    },
  };
}
