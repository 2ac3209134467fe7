import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { parseCredential } from '../credentials/passkey-credential.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import { canHavePasskeys } from '../credentials/relying-party.ts';
import type { Deps } from '../deps.ts';
import { browserToken } from '../sessions/browser.ts';
import { deviceName } from '../sessions/device.ts';
import { requireRecentSession, requireSession, type Session } from '../sessions/session.ts';
import { beginRegistration, listOwn, register, remove, rename } from './operations.ts';
import { passkeyRecord } from './own-passkey.ts';
import { type PasskeyNotice, type PasskeysPage, passkeyNotices, passkeysPage, passkeysPath } from './page.ts';
import { registerPasskey, registrationOptions } from './register-passkey.ts';
import { removePasskey } from './remove-passkey.ts';
import { renameOwnPasskey } from './rename-passkey.ts';
import { readNameBody, readRegistrationBody } from './requests.ts';

type PasskeyRoute = { Params: { id: string } };

/** A person's own passkeys, for programs. */
export async function passkeyRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/me/passkeys', { config: { operation: listOwn } }, async (request) => {
    const { user_id } = await requireSession(deps, request);
    return { passkeys: (await listPasskeys(deps.db, user_id)).map(passkeyRecord) };
  });

  app.post('/v1/me/passkeys/options', { config: { operation: beginRegistration } }, (request, reply) =>
    sendOptions(deps, request, reply),
  );

  app.post('/v1/me/passkeys', { config: { operation: register } }, async (request, reply) => {
    const registrant = await registrantOf(deps, request, reply);
    const { credential, name = suggestName(request) } = readRegistrationBody(request.body);
    return reply.code(201).send(passkeyRecord(await registerPasskey(deps, registrant, { credential, name })));
  });

  app.patch<PasskeyRoute>('/v1/me/passkeys/:id', { config: { operation: rename } }, async (request) => {
    const session = await requireRecentSession(deps, request);
    const change = { session, id: request.params.id, address: request.ip };
    return passkeyRecord(await renameOwnPasskey(deps, change, () => readNameBody(request.body)));
  });

  app.delete<PasskeyRoute>('/v1/me/passkeys/:id', { config: { operation: remove } }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    await removePasskey(deps, session, { id: request.params.id, address: request.ip });
    return reply.code(204).send();
  });

  await passkeyPages(app, deps);
}

const config = { page: true, form: passkeysPath } as const;

/** The same for people. Adding takes a script, since only a script can ask a browser for a passkey. */
async function passkeyPages(app: FastifyInstance, deps: Deps) {
  app.get(passkeysPath, { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const { done } = request.queryParameters;
    return sendPasskeys(
      deps,
      { request, reply, session },
      { done: passkeyNotices.find((doneAction) => doneAction === done) },
    );
  });

  app.post(`${passkeysPath}/options`, (request, reply) => sendOptions(deps, request, reply));

  app.post(passkeysPath, { config }, (request, reply) =>
    change(deps, request, reply, 'added', async () => {
      const registrant = await registrantOf(deps, request, reply);
      const { credential, name } = readForm(request.body);
      const fallback = suggestName(request);
      await registerPasskey(deps, registrant, { credential: parseCredential(credential), name: name ?? fallback });
    }),
  );

  app.post<PasskeyRoute>(`${passkeysPath}/:id/name`, { config }, (request, reply) =>
    change(deps, request, reply, 'renamed', async () => {
      const session = await requireRecentSession(deps, request);
      const { name = '' } = readForm(request.body);
      await renameOwnPasskey(deps, { session, id: request.params.id, address: request.ip }, () => name);
    }),
  );

  app.post<PasskeyRoute>(`${passkeysPath}/:id/remove`, { config }, (request, reply) =>
    change(deps, request, reply, 'removed', async () => {
      const session = await requireRecentSession(deps, request);
      await removePasskey(deps, session, { id: request.params.id, address: request.ip });
    }),
  );
}

async function sendOptions(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  return registrationOptions(deps, await registrantOf(deps, request, reply));
}

async function registrantOf(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  const session = await requireRecentSession(deps, request);
  return { session, browser: browserToken(deps, request, reply), address: request.ip };
}

const suggestName = (request: FastifyRequest): string =>
  deviceName(request.headers['user-agent']) ?? request.view.plain('passkey.default_name');

/** What cannot be done is said above the list; whoever must sign in first is taken there. */
async function change(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  doneAction: PasskeyNotice,
  make: () => Promise<void>,
): Promise<FastifyReply> {
  try {
    await make();
  } catch (error) {
    if (!(error instanceof RequestError) || ![400, 409].includes(error.status)) throw error;
    const session = await requireSession(deps, request);
    return sendPasskeys(deps, { request, reply, session }, { refused: error });
  }
  return reply.redirect(`${passkeysPath}?done=${doneAction}`, 303);
}

async function sendPasskeys(
  deps: Deps,
  { request, reply, session }: { request: FastifyRequest; reply: FastifyReply; session: Session },
  { done, refused }: { done?: PasskeyNotice; refused?: RequestError },
): Promise<FastifyReply> {
  const view = request.view;
  const userMessage = refused && (refused.problems[0]?.userMessage ?? refused.userMessage);
  const page: PasskeysPage = {
    passkeys: await listPasskeys(deps.db, session.user_id),
    suggestedName: suggestName(request),
    canAdd: canHavePasskeys(deps.config),
    done,
    problem: refused && (userMessage ? view.t(userMessage.key, userMessage.values) : refused.message),
  };
  return sendPage(reply, view, passkeysPage(view, page), refused?.status);
}
