import type { FastifyInstance } from 'fastify';
import type { TokenStatus } from '../../apis/api.ts';
import { findApi } from '../../apis/manage-api.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { locales } from '../../platform/i18n/translate.ts';
import { doneOrUnchanged } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { oneLine } from '../../platform/text.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { apiOperations as operations, sentenceMember } from './operations.ts';
import { apiPage, apisPage } from './page.ts';

const list = '/admin/apis';
const one = `${list}/:api_id` as const;

/** APIs that tokens may be for, and their scopes. */
export async function apiPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'apis:read');

  const all = async ({ view }: { view: View }, shown: Shown) => apisPage(view, (await deps.apis.read()).all, shown);
  pages.show(list, (context) => all(context, context));
  pages.run(operations.register, {
    page: list,
    input: (form) => ({
      body: {
        identifier: form.identifier ?? '',
        name: form.name ?? '',
        description: oneLine(form.description ?? ''),
        token_status: statusIn(form),
        ...scopeOf(form),
      },
    }),
    done: (api) => `${list}/${api.api_id}?done=registered`,
    explains,
    redraw: all,
  });

  const redraw = async ({ view, api_id }: { view: View; api_id: string }, shown: Shown) =>
    apiPage(view, await findApi(deps, api_id), shown);
  pages.show(one, (context) => redraw(context, context));
  const onPage = { page: one, explains, redraw };
  pages.run(operations.edit, {
    path: `${one}/edit`,
    input: ({ name = '', description = '', ...form }) => ({
      body: { name, description: oneLine(description), token_status: statusIn(form) },
    }),
    done: doneOrUnchanged(one, 'saved'),
    ...onPage,
  });
  pages.run(operations.setScope, {
    input: (form) => ({ body: scopeOf(form) }),
    done: doneOrUnchanged(one, 'scope_set'),
    ...onPage,
  });
  pages.run(operations.retireScope, {
    input: ({ scope = '' }) => ({ body: { scope } }),
    done: `${one}?done=scope_retired`,
    ...onPage,
  });
  pages.run(operations.retire, { done: `${list}?done=retired`, ...onPage });
}

const statusIn = ({ token_status }: Parameters): TokenStatus => (token_status === 'list' ? 'list' : 'none');

const scopeOf = (form: Parameters) => ({
  scope: form.scope ?? '',
  ...Object.fromEntries(
    locales.flatMap((locale) => {
      const text = form[sentenceMember(locale)];
      return text === undefined ? [] : [[sentenceMember(locale), text]];
    }),
  ),
});
