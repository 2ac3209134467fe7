import type { FastifyInstance } from 'fastify';
import type { Deps } from '../oauth/deps.ts';
import { notFound } from '../platform/errors.ts';

const day = 86_400_000;
/** RFC 9116 §2.5.5: less than a year. */
const validDays = 90;

/** Whom to tell of a vulnerability, where scanners and researchers look (RFC 9116); without a contact there is no such address. */
export async function securityTxtRoutes(app: FastifyInstance, { config, clock }: Deps) {
  const { baseUrl, secure } = config;
  const path = '/.well-known/security.txt';
  app.get(path, async (_request, reply) => {
    const { securityContacts } = config;
    if (securityContacts.length === 0) throw notFound();
    // By the day, so that every answer of a day is the same.
    const expires = new Date((Math.floor(clock() / day) + validDays) * day);
    const lines = [
      ...securityContacts.map((contact) => `Contact: ${contact}`),
      `Expires: ${expires.toISOString()}`,
      ...(secure ? [`Canonical: ${baseUrl}${path}`] : []), // §2.5.2: https alone
    ];
    return reply
      .header('cache-control', 'public, max-age=86400')
      .type('text/plain; charset=utf-8')
      .send(`${lines.join('\n')}\n`);
  });
}
