import type { FastifyInstance } from 'fastify';
import { findOwnClient } from '../../clients/find-clients.ts';
import { addSecret, isOverlap, listSecrets, overlaps, retireSecret } from '../../clients/manage-secrets.ts';
import type { Deps } from '../../oauth/deps.ts';
import { fieldProblem, invalidFields, type RequestError } from '../../platform/errors.ts';
import type { Access } from '../../platform/http/access.ts';
import { alert } from '../../platform/pages/form.ts';
import { type PageContext, pagesFor, type Refused } from '../../platform/pages/page-routes.ts';
import { type ClientArea, clientPath } from '../navigation.ts';
import type { ClientManager } from '../owner.ts';
import { secretPage, secretsPage } from './page.ts';

/**
 * Secrets of a client. Of owners, `access` demands a recent sign-in also for the list, so that no change is interrupted by one.
 */
export async function clientSecretRoutes(
  app: FastifyInstance,
  deps: Deps,
  access: Access<Deps, ClientManager>,
  area: ClientArea,
) {
  const pages = pagesFor(app, deps, access);
  const path = `${area.clientPath}/secrets` as const;

  pages.show(path, (context) => pageOf(context));

  const onPage = {
    page: path,
    explains: (refusal: RequestError) => messageOf(refusal) !== undefined,
    redraw: (context: SecretsContext, { refusal }: Refused) => pageOf(context, refusal),
  };
  pages.post(path, {
    async act({ view, owner, client_id }, { ends = 'later', name }) {
      // The previous secret may also work until it is retired.
      const overlapSeconds = ends === 'later' ? undefined : readOverlap(ends);
      const added = await addSecret(deps, { client_id, name, overlapSeconds, ...owner });
      return secretPage(view, { ...added, area, issuer: deps.config.baseUrl, reason: 'added' });
    },
    ...onPage,
  });
  pages.post(`${path}/:secret_id/retire`, {
    async act({ owner, client_id, secret_id }, { ends }) {
      await retireSecret(deps, { client_id, secret_id, overlapSeconds: readOverlap(ends), ...owner });
      return `${clientPath({ client_id }, area)}/secrets?done=retired`;
    },
    ...onPage,
  });

  async function pageOf({ view, owner, client_id, query }: SecretsContext, refusal?: RequestError) {
    const client = await findOwnClient(deps, client_id, owner.owner_user_id);
    const secrets = await listSecrets(deps, client_id, owner.owner_user_id);
    const message = refusal && messageOf(refusal);
    const problem = message && alert(view.t(message.key, message.values));
    return secretsPage(view, { area, client, secrets, problem, isRetired: query.done === 'retired' });
  }
}

type SecretsContext = PageContext<ClientManager, ClientArea['clientPath']>;

const messageOf = ({ userMessage, problems }: RequestError) => userMessage ?? problems[0]?.userMessage;

function readOverlap(ends: string | undefined): number {
  if (ends !== undefined && isOverlap(ends)) return overlaps[ends];
  throw invalidFields([fieldProblem('ends', { key: 'problem.secret.ends' })]);
}
