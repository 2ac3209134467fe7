import { connect } from 'node:net';

/** What came back on one connection, and whether the server ended it. */
export type RawAnswer = { text: string; closed: boolean };

/** Sends these very bytes, one byte for each character, and reads until the server closes or says nothing more. */
export function sendRaw(port: number, bytes: string, quietMs = 300): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, closed });
    };
    // Only a connection that stays open costs the time.
    let timer = setTimeout(finish, 5_000, false);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      clearTimeout(timer);
      timer = setTimeout(finish, quietMs, false);
    });
    socket.on('close', () => finish(true));
    socket.on('error', () => {}); // a reset after the answer; `close` follows
  });
}
