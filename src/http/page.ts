import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Html, html } from './html.ts';

const stylesheet = readFileSync(new URL('./signet.css', import.meta.url), 'utf8');
const stylesheetPath = `/assets/signet-${hash('sha256', stylesheet, 'hex').slice(0, 12)}.css`;

export type Page = {
  title: string;
  /** What stands in the `main` element. */
  content: Html;
  /**
   * The redirect URI at which a form's answer may end. Browsers hold every redirect that follows a form to
   * `form-action`, those of the client behind its redirect URI included, so the scheme is all that can be said.
   */
  endsAt?: string;
};

/** The whole document. It works without JavaScript, because there is none. */
export const layout = ({ title, content }: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} - Signet</title>
<link rel="stylesheet" href="${stylesheetPath}">
<link rel="icon" href="/assets/signet.svg" type="image/svg+xml">
</head>
<body>
<header class="brand"><a href="/account"><img src="/assets/signet.svg" alt="" width="28" height="28"> Signet</a></header>
<main>
${content}
</main>
</body>
</html>
`;

export function sendPage(reply: FastifyReply, page: Page, status = 200): FastifyReply {
  const formAction = page.endsAt === undefined ? "'self'" : `'self' ${new URL(page.endsAt).protocol}`;
  return reply
    .code(status)
    .headers({
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    })
    .type('text/html; charset=utf-8')
    .send(layout(page).toString());
}

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#2f5d50"/><path d="M21.2 11.6C20.3 9.7 18.4 8.7 16 8.7c-3 0-5.2 1.4-5.2 3.7 0 2.2 1.9 3 5.2 3.6s5.2 1.4 5.2 3.7c0 2.2-2.2 3.6-5.2 3.6-2.4 0-4.3-1-5.2-2.9" fill="none" stroke="#fff" stroke-width="2.8" stroke-linecap="round"/></svg>`;

/** The stylesheet is named by its content, so it may be kept for ever. */
export async function assetRoutes(app: FastifyInstance) {
  app.get(stylesheetPath, async (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type('text/css; charset=utf-8')
      .send(stylesheet),
  );
  app.get('/assets/signet.svg', async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=86400').type('image/svg+xml').send(icon),
  );
}
