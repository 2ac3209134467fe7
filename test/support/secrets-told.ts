import assert from 'node:assert/strict';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Mailbox } from './mailbox.ts';

const secretField = /(?:^|_)(?:token|secret|password|verifier|assertion)s?$|^(?:code|backup_codes)$/;
const isPassword = /password$/;
/** Fuzzed texts consist of them, so one may be a password and a part of what is logged. */
const ownNames = new Set([
  'prototype',
  ...[Object, Function].flatMap((one) => Object.getOwnPropertyNames(one.prototype)),
]);

/**
 * Watches every secret that a server of the tests issues or is sent: tokens, codes, cookies, client secrets, passwords, links in
 * mails.
 * @returns a check, for the end of the test, that none of them is in the log, or in the answer to a request that failed and did
 * not have it in its address or body.
 */
export function watchSecrets(app: FastifyInstance, logLines: readonly string[], mailbox?: Mailbox): () => void {
  /** By the part of a secret that {@link partsOf} finds again, what it is. */
  const secrets = new Map<string, string>();
  const passwords = new Set<string>();
  const leaks = new Set<string>();

  function keep(what: string, secret: string): void {
    const part = partsOf(secret).at(-1); // the signature of a JWT
    if (part !== undefined && !/^(?:usr|wh)_/.test(part)) secrets.set(part, what); // ids are no secrets: a cookie and a link in a mail have one
  }
  function keepFields(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (!secretField.test(name)) keepFields(inner);
      else if (typeof inner !== 'string') for (const one of Array.isArray(inner) ? inner : []) keep(name, String(one));
      else if (!isPassword.test(name)) keep(name, inner);
      else if (inner.length > 8 && !ownNames.has(inner)) passwords.add(inner);
    }
  }
  const isKnownTo = ({ url, body }: FastifyRequest, part: string) =>
    url.includes(part) || JSON.stringify(body ?? '').includes(part);

  app.addHook('preHandler', (request, _reply, done) => {
    keepFields(request.body);
    const [, basic] = /^Basic (\S+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (basic) keep('client secret', Buffer.from(basic, 'base64').toString().split(':').at(-1) ?? '');
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    for (const line of [reply.getHeader('set-cookie') ?? []].flat())
      keep('cookie', String(line).split(';')[0]?.split('=')[1] ?? '');
    const { location } = reply.getHeaders();
    if (typeof location === 'string' && URL.canParse(location)) {
      const code = new URL(location).searchParams.get('code');
      if (code) keep('code', code);
    }
    if (typeof payload === 'string') {
      if (reply.statusCode >= 400) {
        const part = partsOf(payload).find((one) => secrets.has(one) && !isKnownTo(request, one));
        if (part) leaks.add(`${request.method} ${request.routeOptions.url} tells the ${secrets.get(part)}: ${part}`);
      }
      if (payload.startsWith('{')) keepFields(JSON.parse(payload));
    }
    done(null, payload);
  });
  return () => {
    for (const { text } of mailbox?.mails ?? []) for (const [link] of text.matchAll(/https?:\S+/g)) keep('link', link);
    for (const line of logLines) {
      for (const part of partsOf(line))
        if (secrets.has(part)) leaks.add(`the log tells the ${secrets.get(part)}: ${line}`);
    }
    const log = logLines.join('');
    for (const password of passwords)
      if (log.includes(JSON.stringify(password).slice(1, -1))) leaks.add(`the log tells ${password}`);
    assert.deepEqual([...leaks], []);
  };
}

/** What is long enough to be a secret. */
const partsOf = (text: string): string[] => text.match(/[\w-]{20,}/g) ?? [];
