import type { FastifyInstance } from 'fastify';
import {
  administratorContext,
  answerForm,
  isDisplayable,
  problemOf,
} from '../../authentication/sessions/administrator.ts';
import { allCredentials } from '../../entitlements/service-credentials/list-credentials.ts';
import {
  changeCredentialTerms,
  createCredential,
  findCredential,
  retire,
  rotateCredential,
} from '../../entitlements/service-credentials/manage-credential.ts';
import { permissions } from '../../entitlements/service-credentials/service-credential.ts';
import type { Deps } from '../../oauth/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { checkedNames } from '../components.ts';
import { credentialPage, credentialSecretPage, credentialsPage, typedProducts } from './page.ts';

const list = '/admin/service-credentials';
const one = `${list}/:credential_id`;
type ItemRoute = { Params: { credential_id: string } };
const config = { page: true, form: one };

/** Back ends that may call by themselves. A secret is answered directly, once: no address leads to it again. */
export async function serviceCredentialPageRoutes(app: FastifyInstance, deps: Deps) {
  app.get(list, { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorContext(deps, request);
    return sendPage(reply, view, credentialsPage(view, await allCredentials(deps), { query }));
  });

  app.post(list, { config: { page: true, form: list } }, async (request, reply) => {
    const { view, caller } = await administratorContext(deps, request);
    const form = readForm(request.body);
    try {
      const made = await createCredential(deps, caller, { name: form.name ?? '', ...termsOf(form) });
      const { credential_id } = made.credential;
      return sendPage(reply, view, credentialSecretPage(view, { credential_id, client_secret: made.client_secret }));
    } catch (error) {
      if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
      const shown = { problem: problemOf(view, error), form };
      return sendPage(reply, view, credentialsPage(view, await allCredentials(deps), shown), 400);
    }
  });

  app.get<ItemRoute>(one, { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorContext(deps, request);
    const credential = await findCredential(deps, request.params.credential_id);
    return sendPage(reply, view, credentialPage(view, credential, { query }));
  });

  app.post<ItemRoute>(`${one}/restrict`, { config }, async (request, reply) => {
    const { view, caller } = await administratorContext(deps, request);
    const { credential_id } = request.params;
    return answerForm(reply, view, {
      act: async () => {
        await changeCredentialTerms(deps, caller, credential_id, termsOf(readForm(request.body)));
        return `${list}/${credential_id}?done=restricted`;
      },
      again: async (problem) => credentialPage(view, await findCredential(deps, credential_id), { problem }),
    });
  });

  app.post<ItemRoute>(`${one}/rotate`, { config }, async (request, reply) => {
    const { view, caller } = await administratorContext(deps, request);
    const { credential_id } = request.params;
    const { overlap_seconds } = readForm(request.body);
    try {
      const overlapSeconds = overlap_seconds === undefined ? undefined : Number(overlap_seconds || Number.NaN);
      const rotated = await rotateCredential(deps, caller, credential_id, overlapSeconds);
      return sendPage(reply, view, credentialSecretPage(view, { ...rotated, until: rotated.previous_expires_at }));
    } catch (error) {
      if (!isDisplayable(error)) throw error;
      const problem = problemOf(view, error);
      return sendPage(
        reply,
        view,
        credentialPage(view, await findCredential(deps, credential_id), { problem }),
        error.status,
      );
    }
  });

  app.post<ItemRoute>(`${one}/retire`, { config }, async (request, reply) => {
    const { view, caller } = await administratorContext(deps, request);
    const { credential_id } = request.params;
    return answerForm(reply, view, {
      act: async () => {
        await retire(deps, caller, credential_id);
        return `${list}?done=retired`;
      },
      again: async (problem) => credentialPage(view, await findCredential(deps, credential_id), { problem }),
    });
  });
}

const termsOf = (form: Parameters) => ({
  permissions: checkedNames(form, 'permission:', permissions),
  products: typedProducts(form.products),
});
