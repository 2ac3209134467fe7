import type { FastifyInstance } from 'fastify';
import { findCredential } from '../../entitlements/service-credentials/manage-credential.ts';
import {
  hasExpired,
  permissions,
  type ServiceCredential,
} from '../../entitlements/service-credentials/service-credential.ts';
import { allCredentials } from '../../entitlements/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { isActiveSecret } from '../../platform/ids.ts';
import { doneOrUnchanged } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { checkedNames, explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { serviceCredentialOperations as operations } from './operations.ts';
import { credentialPage, credentialSecretPage, credentialsPage, typedExpiry, typedLines } from './page.ts';

const list = '/admin/service-credentials';
const one = `${list}/:client_id` as const;

/** Credentials of back ends. A secret is answered directly, once: no address leads to it again. */
export async function serviceCredentialPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'service-credentials:read');

  const withEnd = (one: ServiceCredential) => ({ ...one, isExpired: hasExpired(one, now(deps)) });
  const all = async ({ view }: { view: View }, shown: Shown) =>
    credentialsPage(view, (await allCredentials(deps)).map(withEnd), (await deps.apis.read()).all, shown);
  pages.show(list, (context) => all(context, context));
  pages.run(operations.create, {
    page: list,
    input: (form) => ({ body: { name: form.name ?? '', ...termsOf(form), api_id: form.api || null } }),
    done: (made, { view }) => credentialSecretPage(view, made),
    redraw: all,
  });

  const redraw = async ({ view, client_id }: { view: View; client_id: string }, shown: Shown) => {
    const credential = await findCredential(deps, client_id);
    const active = credential.secrets.filter((secret) => isActiveSecret(secret, now(deps)));
    const api = credential.api_id === null ? undefined : (await deps.apis.read()).find(credential.api_id);
    return credentialPage(view, { ...withEnd(credential), api }, active, shown);
  };
  pages.show(one, (context) => redraw(context, context));

  const onPage = { page: one, explains, redraw };
  pages.run(operations.restrict, {
    path: `${one}/restrict`,
    input: (form) => ({ body: termsOf(form) }),
    done: doneOrUnchanged(one, 'restricted'),
    ...onPage,
  });
  pages.run(operations.rotate, {
    // A field that was emptied is no number: it must not become an overlap of 0.
    input: ({ overlap_seconds: typed }) => ({
      body: { overlap_seconds: typed === undefined ? undefined : Number(typed || Number.NaN) },
    }),
    done: (rotated, { view }) => credentialSecretPage(view, { ...rotated, until: rotated.previous_expires_at }),
    ...onPage,
  });
  pages.run(operations.retire, { done: `${list}?done=retired`, ...onPage });
}

const termsOf = (form: Parameters) => ({
  permissions: checkedNames(form, 'permission:', permissions),
  products: typedLines(form.products),
  addresses: typedLines(form.addresses),
  expires_in_days: typedExpiry(form.expires_in_days),
});
