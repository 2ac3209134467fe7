import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import type { Config } from '../config.ts';
import { openTransport } from './transport.ts';

const mail = {
  to: 'ada@example.com',
  subject: 'Verify your email address',
  text: 'Hello \u001b[2J,\n\nhttp://localhost:3000/verify-email/ln_x\n',
  mail_id: 'mail_1',
  created_at: 1,
};
const config = { smtpUrl: undefined, secure: false } as Config;

/** What is written to a terminal and to the log. */
async function sent({ isTerminal = true, level = 'info' } = {}) {
  const [terminal, logged]: [string[], string[]] = [[], []];
  const log = pino({ level }, { write: (line: string) => void logged.push(line) });
  const transport = openTransport({
    config,
    log,
    ...(isTerminal && { terminal: { write: (text) => terminal.push(text) } }),
  });
  await transport?.send(mail);
  return { terminal: terminal.join(''), logged: logged.join('') };
}

test('a mail that is not sent is a block on a terminal, and a line of the log elsewhere', async () => {
  const shown = await sent();
  assert.match(shown.terminal, /^To: {6}ada@example\.com$/m);
  assert.match(shown.terminal, /^http:\/\/localhost:3000\/verify-email\/ln_x$/m);
  assert.match(shown.terminal, /^Hello \[U\+001B\]\[2J,$/m, 'nothing in it moves the cursor');
  assert.equal(shown.logged, '');
  const logged = await sent({ isTerminal: false });
  assert.equal((JSON.parse(logged.logged) as { text: string }).text, mail.text);
  assert.deepEqual(await sent({ level: 'warn' }), { terminal: '', logged: '' });
});
