import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../oauth/deps.ts';
import { notFound } from '../../platform/errors.ts';
import { withOwnLogo } from '../../platform/mail/brand.ts';
import { exampleMail } from '../../platform/mail/examples.ts';
import { isLetterName, type LetterName } from '../../platform/mail/letters.ts';
import { listRefusals } from '../../platform/mail/refusals.ts';
import { pagesOf } from '../page-access.ts';
import { chosenIn, mailsPage, mailsPath, previewPage } from './page.ts';
import { refusedPage, refusedPath } from './refused-page.ts';

const mailOf = (name: string): LetterName => {
  if (!isLetterName(name)) throw notFound();
  return name;
};

const refusalsAtOnce = 50;

/** Every mail, with invented people in it, and whom none reaches. */
export async function mailPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'settings:read');
  pages.show(mailsPath, ({ view }) => mailsPage(view, deps));
  pages.show(`${mailsPath}/:name`, ({ view, query, name }) => {
    const mail = mailOf(name);
    return previewPage(view, deps, mail, chosenIn(deps, mail, query));
  });
  pages.frame(`${mailsPath}/:name/html`, ({ query, name }) => {
    const mail = mailOf(name);
    const { language, scheme } = chosenIn(deps, mail, query);
    return withOwnLogo(exampleMail(deps, mail, language, scheme).html, deps.config);
  });

  pagesOf(app, deps, 'users:read').show(refusedPath, async ({ view, query: { before } }) =>
    refusedPage(view, await listRefusals(deps, { limit: refusalsAtOnce, ...(before !== undefined && { before }) })),
  );
}
