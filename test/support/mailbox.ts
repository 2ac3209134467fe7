import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { SMTPServer } from 'smtp-server';
import type { Part } from '../../src/platform/db/db.ts';
import { askAll } from '../../src/platform/db/parts.ts';
import { findDueMails } from '../../src/platform/mail/store.ts';
import { afterTest } from './after-test.ts';
import type { Signet } from './signet.ts';
import { until } from './until.ts';

/** `types`: those of its parts, in their order. `attachments`: what is neither text nor HTML. */
export type ReceivedMail = {
  to: string;
  subject: string;
  text: string;
  html: string | undefined;
  headers: string;
  types: string[];
  attachments: Leaf[];
};

/** A real SMTP server that takes every mail, or refuses on demand. */
export type Mailbox = {
  /** For SIGNET_SMTP_URL. */
  url: string;
  /** In the order of their arrival. */
  mails: ReceivedMail[];
  /** Waits for the next mail to this address that was not handed out before. */
  next(to: string, subject?: RegExp): Promise<ReceivedMail>;
  /** While true, every mail is answered with 451. */
  refuses: boolean;
  /** While set, what its command is answered with. */
  answers: { command: 'MAIL FROM' | 'RCPT TO' | 'DATA'; code: number; text: string } | undefined;
  /** Recipients that were named, also refused ones. */
  recipients: string[];
  /** Connections that were opened. */
  connections: number;
  /** Does not answer the next mail until it is released. */
  holdNext(): { reached: Promise<void>; release(): void };
  /** Closes every connection, and resolves when they are closed. */
  hangUp(): Promise<void>;
};

/** What is in the queue, due or not, with the part of the store where it is. */
export async function waitingMails({ deps, clock }: Pick<Signet, 'deps' | 'clock'>) {
  const everything = { now: clock() / 1000 + 1_000_000, limit: 100 };
  const inPart = async (part: Part) => (await findDueMails(part, everything)).map((mail) => ({ ...mail, part }));
  return (await askAll(deps.db, inPart)).flat();
}

/** @param options.hidesUtf8 as a server of before RFC 6531. */
export async function openMailbox(t: TestContext, { hidesUtf8 = false } = {}): Promise<Mailbox> {
  const handedOut = new Set<ReceivedMail>();
  let onHold: { reach(): void; released: Promise<void> } | undefined;
  const mailbox: Mailbox = {
    url: '',
    mails: [],
    refuses: false,
    answers: undefined,
    recipients: [],
    connections: 0,
    holdNext() {
      const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      onHold = { reach, released };
      return { reached, release };
    },
    async hangUp() {
      const sockets = [...server.connections].map(({ _socket }) => _socket as Socket);
      for (const socket of sockets) socket.end();
      for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
    },
    async next(to, subject = /./) {
      const isWanted = (one: ReceivedMail) => !handedOut.has(one) && one.to === to && subject.test(one.subject);
      const seen = () => mailbox.mails.map((mail) => `${mail.to}: ${mail.subject}`).join('; ');
      await until(`a mail to ${to} with subject ${subject}`, () => mailbox.mails.some(isWanted), seen);
      const mail = mailbox.mails.find(isWanted)!;
      handedOut.add(mail);
      return mail;
    },
  };
  const refusalOf = (command: NonNullable<Mailbox['answers']>['command']) => {
    const { answers } = mailbox;
    if (answers?.command !== command) return undefined;
    return Object.assign(new Error(answers.text), { responseCode: answers.code });
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    hideSMTPUTF8: hidesUtf8,
    onMailFrom: (_, __, callback) => callback(refusalOf('MAIL FROM')),
    onRcptTo({ address }, _, callback) {
      mailbox.recipients.push(address);
      callback(refusalOf('RCPT TO'));
    },
    onConnect(_, callback) {
      mailbox.connections += 1;
      callback();
    },
    async onData(stream, session, callback) {
      const message = await text(stream).catch(() => undefined);
      if (message === undefined) return; // its sender was killed
      const hold = onHold;
      onHold = undefined;
      hold?.reach();
      await hold?.released;
      const refusal = refusalOf('DATA');
      if (refusal) return callback(refusal);
      if (mailbox.refuses) return callback(Object.assign(new Error('Try again later'), { responseCode: 451 }));
      mailbox.mails.push(readMail(message, session.envelope.rcptTo.map(({ address }) => address).join()));
      callback();
    },
  });
  server.on('error', () => undefined); // the connection of a sender that was killed
  const listener = server.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  mailbox.url = `smtp://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  afterTest(t, () => new Promise<void>((resolve) => server.close(resolve)));
  return mailbox;
}

/** RFC 5322 and 2046: the text, and what is beside it. */
function readMail(message: string, to: string): ReceivedMail {
  const { headers, header } = entity(message);
  const leaves = leavesOf(message);
  const [text = '', html] = ['text/plain', 'text/html'].map((type) => leaves.find((one) => one.type === type)?.content);
  const attachments = leaves.filter(({ type }) => !type.startsWith('text/'));
  return {
    to,
    headers,
    subject: decodeWords(header('Subject')),
    text,
    html,
    types: leaves.map(({ type }) => type),
    attachments,
  };
}

function entity(message: string) {
  const end = message.indexOf('\r\n\r\n');
  const headers = message.slice(0, end).replace(/\r\n[ \t]+/g, ' ');
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(headers)?.[1] ?? '';
  return { headers, header, body: message.slice(end + 4) };
}

type Leaf = { type: string; headers: string; content: string };

function leavesOf(message: string): Leaf[] {
  const { headers, header, body } = entity(message);
  const type = header('Content-Type');
  const boundary = /^multipart\/.*boundary="([^"]+)"/i.exec(type)?.[1];
  if (boundary === undefined) {
    return [{ type: type.split(';')[0]!, headers, content: decodeBody(body, header('Content-Transfer-Encoding')) }];
  }
  const parts = body.split(`--${boundary}`).slice(1, -1);
  return parts.flatMap((part) => leavesOf(part.replace(/^\r\n/, '').replace(/\r\n$/, '')));
}

/** RFC 2047. */
const decodeWords = (text: string): string =>
  text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, encoding: string, word: string) =>
      encoding.toLowerCase() === 'b' ? Buffer.from(word, 'base64').toString() : decodeQuoted(word.replaceAll('_', ' ')),
    );

function decodeBody(body: string, encoding: string): string {
  const decoded =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString()
      : encoding === 'quoted-printable'
        ? decodeQuoted(body.replace(/=\r\n/g, ''))
        : body;
  return decoded.replaceAll('\r\n', '\n').trimEnd();
}

const decodeQuoted = (text: string): string =>
  Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  ).toString();

/** The link in a mail: its path on our own origin. */
export function linkIn({ text: body }: Pick<ReceivedMail, 'text'>, path: RegExp): string {
  for (const [url] of body.matchAll(/https?:\/\/\S+/g)) {
    const { pathname, search } = new URL(url);
    if (path.test(pathname)) return pathname + search;
  }
  throw new Error(`The mail has no link to ${path}: ${body}`);
}
