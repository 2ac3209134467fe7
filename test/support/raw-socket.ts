import { connect } from 'node:net';

/** What came back on one connection, and whether the server ended it. */
export type RawAnswer = { text: string; closed: boolean };

/** Sends these very bytes, one byte for each character, and reads until the server closes or says nothing more. */
export function sendRaw(port: number, bytes: string): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = '';
    const begun = performance.now();
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, closed });
    };
    // Only a connection that stays open costs the time. How long silence means the end follows from how fast the machine answers.
    let timer = setTimeout(finish, 120_000, false);
    let quietMs = 0;
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      clearTimeout(timer);
      quietMs ||= Math.max(300, 5 * (performance.now() - begun));
      timer = setTimeout(finish, quietMs, false);
    });
    socket.on('close', () => finish(true));
    socket.on('error', () => {}); // a reset after the answer; `close` follows
  });
}
