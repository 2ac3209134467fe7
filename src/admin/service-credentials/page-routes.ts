import type { FastifyInstance } from 'fastify';
import { administratorPage } from '../../authentication/sessions/session.ts';
import { allCredentials, findCredential } from '../../entitlements/service-credentials/manage-credential.ts';
import { permissions } from '../../entitlements/service-credentials/service-credential.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { pagesFor, type Refused } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { checkedNames, explains } from '../components.ts';
import * as operations from './operations.ts';
import { credentialPage, credentialSecretPage, credentialsPage, typedProducts } from './page.ts';

const list = '/admin/service-credentials';
const one = `${list}/:client_id` as const;

/** Credentials of back ends. A secret is answered directly, once: no address leads to it again. */
export async function serviceCredentialPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesFor(app, deps, administratorPage);

  pages.show(list, async ({ view, query }) => credentialsPage(view, await allCredentials(deps), { query }));

  pages.run(operations.createServiceCredential, {
    page: list,
    input: (form) => ({ body: { name: form.name ?? '', ...termsOf(form) } }),
    done: (made, { view }) => credentialSecretPage(view, made),
    redraw: async ({ view }, { problem, form }) => credentialsPage(view, await allCredentials(deps), { problem, form }),
  });

  pages.show(one, async ({ view, client_id, query }) =>
    credentialPage(view, await findCredential(deps, client_id), { query }),
  );

  const onPage = {
    page: one,
    explains,
    redraw: async ({ view, client_id }: { view: View; client_id: string }, { problem }: Refused) =>
      credentialPage(view, await findCredential(deps, client_id), { problem }),
  };
  pages.run(operations.restrictServiceCredential, {
    path: `${one}/restrict`,
    input: (form) => ({ body: termsOf(form) }),
    done: `${one}?done=restricted`,
    ...onPage,
  });
  pages.run(operations.rotateServiceCredential, {
    // A field that was emptied is no number: it must not become an overlap of 0.
    input: ({ overlap_seconds: typed }) => ({
      body: { overlap_seconds: typed === undefined ? undefined : Number(typed || Number.NaN) },
    }),
    done: (rotated, { view }) => credentialSecretPage(view, { ...rotated, until: rotated.previous_expires_at }),
    ...onPage,
  });
  pages.run(operations.retireServiceCredential, { done: `${list}?done=retired`, ...onPage });
}

const termsOf = (form: Parameters) => ({
  permissions: checkedNames(form, 'permission:', permissions),
  products: typedProducts(form.products),
});
