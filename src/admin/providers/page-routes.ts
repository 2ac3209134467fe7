import type { FastifyInstance } from 'fastify';
import { allProviders, findProvider, useOfProvider } from '../../authentication/federation/list-providers.ts';
import { callbackUrl } from '../../authentication/federation/upstream-authorization.ts';
import { receiptsOfProvider } from '../../authentication/upstream-events/receipts.ts';
import type { Deps } from '../../oauth/deps.ts';
import { acceptFiles, fileIn } from '../../platform/http/form-with-file.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { Html } from '../../platform/pages/html.ts';
import { doneOrUnchanged } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { checkOutcome } from './check-outcome.ts';
import { providerOperations as operations } from './operations.ts';
import { providerPage, providersPage } from './page.ts';
import { secretOutcome } from './signals-part.ts';

const list = '/admin/providers';
const one = `${list}/:provider` as const;

/** Providers to sign in with: those of the settings to be read, those of the store to be changed. */
export async function providerPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'providers:read');

  const example = callbackUrl(deps, { id: 'acme' });
  const all = async ({ view }: { view: View }, shown: Shown) =>
    providersPage(view, { providers: await allProviders(deps), example }, shown);
  pages.show(list, (context) => all(context, context));
  pages.run(operations.create, {
    page: list,
    input: ({ id = '', issuer = '', label = '', client_id = '', client_secret = '', groups_claim, scope }) => ({
      body: {
        ...{ id: id.trim().toLowerCase(), issuer: issuer.trim() || undefined, label: label.trim() || undefined },
        ...{ client_id: client_id.trim(), client_secret, groups_claim: groups_claim?.trim(), scope: scope?.trim() },
      },
    }),
    done: ({ id }) => `${list}/${id}?done=created`,
    explains,
    redraw: all,
  });

  const draw = async (view: View, id: string, shown: Shown, outcome?: Html | false) => {
    const found = await findProvider(deps, id);
    const [people, received] = await Promise.all([useOfProvider(deps, found), receiptsOfProvider(deps, found)]);
    return providerPage(view, { ...found, people, received }, shown, outcome);
  };
  const redraw = ({ view, provider }: { view: View; provider: string }, shown: Shown) => draw(view, provider, shown);
  pages.show(one, (context) => redraw(context, context));
  const onPage = { page: one, explains, redraw };
  pages.run(operations.edit, {
    path: `${one}/edit`,
    input: (form) => ({ body: editOf(form) }),
    done: doneOrUnchanged(one, 'saved'),
    ...onPage,
  });
  pages.run(operations.takeSignals, {
    path: `${one}/signals-secret`,
    input: ({ audience }) => ({ body: { audience: audience?.trim() } }),
    done: (made, { view, provider }) => draw(view, provider, {}, secretOutcome(view, made)),
    ...onPage,
  });
  // Files are read for these routes alone.
  await app.register(async (uploads) => {
    acceptFiles(uploads);
    const ofLogo = pagesOf(uploads, deps, 'providers:read');
    ofLogo.run(operations.setLogo, {
      page: one,
      input: (_, { request }) => ({ body: { content: fileIn(request.body).toString('base64') } }),
      done: doneOrUnchanged(one, 'logo'),
      explains,
      redraw,
    });
    ofLogo.run(operations.removeLogo, {
      path: `${one}/logo/remove`,
      done: doneOrUnchanged(one, 'logo_removed'),
      ...onPage,
    });
  });
  pages.run(operations.enable, { done: `${one}?done=enabled`, ...onPage });
  pages.run(operations.disable, { done: `${one}?done=disabled`, ...onPage });
  pages.run(operations.delete, { path: `${one}/delete`, done: `${list}?done=deleted`, ...onPage });
  pages.run(operations.check, {
    path: `${one}/check`,
    done: (found, { view, provider }) => draw(view, provider, {}, checkOutcome(view, found)),
    ...onPage,
  });
}

/** A secret that is not typed stays as it is. */
const editOf = ({ label = '', client_id = '', client_secret, groups_claim, scope }: Parameters) => ({
  ...{ label: label.trim(), client_id: client_id.trim(), client_secret: client_secret || undefined },
  ...{ groups_claim: groups_claim?.trim(), scope: scope?.trim() },
});
