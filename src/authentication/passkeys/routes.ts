import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RequestError } from '../../platform/errors.ts';
import { jsonBody, readNoBody } from '../../platform/http/bodies.ts';
import { cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import {
  addOperations,
  nameInCode,
  nullable,
  type OperationDescription,
  operation,
  Time,
} from '../../platform/http/operation.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { Type } from '../../platform/schema.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import { canHavePasskeys, parseCredential } from '../credentials/webauthn.ts';
import type { Deps } from '../deps.ts';
import { browserToken, deviceName } from '../sessions/browser.ts';
import { enrolling, recentlySignedIn, signedIn } from '../sessions/session.ts';
import type { Session } from '../sessions/store.ts';
import { passkeyRecord, removePasskey, renameOwnPasskey } from './manage-passkeys.ts';
import { passkeyNotices, passkeyOfferPath, passkeysPage, passkeysPath } from './page.ts';
import { registerPasskey, registrationOptions } from './register-passkey.ts';
import { withAcceptedPasskeys } from './signals.ts';

const Passkey = Type.Object({
  id: Type.String(),
  name: Type.String(),
  synced: Type.Boolean({ description: 'Whether the passkey is backed up elsewhere.' }),
  created_at: Time,
  last_used_at: nullable(Time),
});

const name = Type.String({ description: '1 to 100 characters.', ...nameInCode });
const NameBody = Type.Object({ name }, { additionalProperties: false });
const RegistrationBody = Type.Object(
  {
    credential: Type.Object(
      {},
      { description: 'RegistrationResponseJSON (WebAuthn §5.1.8).', additionalProperties: true },
    ),
    name: Type.Optional(name),
  },
  { additionalProperties: false },
);

const readName = jsonBody(NameBody);
const readRegistration = jsonBody(RegistrationBody);

const tag = '2FA';

const passkeyList = operation({
  id: 'listPasskeys',
  method: 'GET',
  path: '/v1/me/passkeys',
  access: signedIn,
  tag,
  summary: 'List your passkeys',
  description: 'Names and times of use, never keys.',
  answer: { description: 'Oldest first.', schema: Type.Object({ passkeys: Type.Array(Passkey) }) },
  run: async ({ db }: Deps, { session }) => ({
    passkeys: (await listPasskeys(db, session.user_id)).map(passkeyRecord),
  }),
});

const registration = { access: [enrolling], tag, refusals: ['invalid_state', 'rate_limited'] } as const;

const beginRegistration: OperationDescription = {
  ...registration,
  id: 'beginPasskeyRegistration',
  summary: 'Begin to register a passkey',
  description: 'Each challenge works once, for five minutes, in this browser and for this user.',
  answers: {
    200: {
      description: 'PublicKeyCredentialCreationOptionsJSON (WebAuthn §5.1.9).',
      schema: Type.Object({ challenge: Type.String() }),
    },
  },
};

const register: OperationDescription = {
  ...registration,
  id: 'registerPasskey',
  summary: 'Register a passkey',
  body: {
    schema: RegistrationBody,
    example: {
      name: 'Key ring',
      credential: {
        id: 'Y3JlZGVudGlhbA',
        rawId: 'Y3JlZGVudGlhbA',
        type: 'public-key',
        response: { clientDataJSON: 'BASE64URL', attestationObject: 'BASE64URL' },
      },
    },
  },
  answers: { 201: { description: 'The passkey.', schema: Passkey } },
};

const onPasskey = {
  path: '/v1/me/passkeys/:id',
  access: recentlySignedIn,
  tag,
  parameters: { id: "The passkey's `id`." },
} as const;

const rename = operation({
  ...onPasskey,
  id: 'renamePasskey',
  method: 'PATCH',
  summary: 'Rename a passkey',
  body: NameBody,
  parsesBody: true,
  example: { name: 'Key ring' },
  answer: { description: 'The passkey.', schema: Passkey },
  refusals: ['not_found', 'rate_limited'],
  run: async (deps: Deps, { id, body, ...owner }) =>
    passkeyRecord((await renameOwnPasskey(deps, owner, id, () => readName(body).name)).after),
});

const remove = operation({
  ...onPasskey,
  id: 'removePasskey',
  method: 'DELETE',
  summary: 'Remove a passkey',
  answer: { description: 'Removed.' },
  refusals: ['not_found', 'invalid_state'],
  run: (deps: Deps, { id, ...owner }) => removePasskey(deps, owner, id),
});

/** A user's own passkeys. */
export async function passkeyRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [passkeyList, rename, remove]);

  const sendOptions = async (request: FastifyRequest, reply: FastifyReply) =>
    registrationOptions(deps, await registrantOf(deps, request, reply));
  app.post('/v1/me/passkeys/options', { config: { operation: beginRegistration } }, async (request, reply) => {
    readNoBody(request.body);
    return sendOptions(request, reply);
  });
  app.post(`${passkeysPath}/options`, sendOptions);

  app.post('/v1/me/passkeys', { config: { operation: register } }, async (request, reply) => {
    const registrant = await registrantOf(deps, request, reply);
    const { credential, name = suggestName(request) } = readRegistration(request.body);
    return reply.code(201).send(passkeyRecord(await registerPasskey(deps, registrant, { credential, name })));
  });

  passkeyPages(app, deps);
}

function passkeyPages(app: FastifyInstance, deps: Deps) {
  type Context = { session: Session; request: FastifyRequest; view: View };
  const draw = async ({ session, request, view }: Context, refused?: { refusal: RequestError }) => {
    const refusal = refused?.refusal;
    const userMessage = refusal?.problems[0]?.userMessage ?? refusal?.userMessage;
    const passkeys = await listPasskeys(deps.db, session.user_id);
    const page = passkeysPage(view, {
      passkeys,
      suggestedName: suggestName(request),
      canAdd: canHavePasskeys(deps.config),
      done: refusal ? undefined : passkeyNotices.find((notice) => notice === request.queryParameters.done),
      problem: refusal && (userMessage ? view.t(userMessage.key, userMessage.values) : refusal.message),
    });
    return canHavePasskeys(deps.config) ? withAcceptedPasskeys(deps, page, session, passkeys) : page;
  };
  const form = {
    page: passkeysPath,
    redraw: draw,
    explains: ({ status }: RequestError) => status === 400 || status === 409,
  };

  const open = pagesFor(app, deps, signedIn);
  open.show(passkeysPath, (context) => draw(context));
  open.post(passkeyOfferPath, {
    page: '/account',
    async act({ session, reply }) {
      setCookie(reply, deps.config, cookieNames(deps.config).passkeyOffer, session.user_id, declinedSeconds);
      return '/account';
    },
  });

  const pages = pagesFor(app, deps, recentlySignedIn);
  pages.post(passkeysPath, {
    ...form,
    async act({ session, caller, request, reply }, { credential, name = suggestName(request) }) {
      const registrant = { session, caller, browserToken: browserToken(deps, request, reply) };
      await registerPasskey(deps, registrant, { credential: parseCredential(credential), name });
      return `${passkeysPath}?done=added`;
    },
  });
  pages.post(`${passkeysPath}/:id/name`, {
    ...form,
    async act(owner, { name = '' }) {
      const { isChanged } = await renameOwnPasskey(deps, owner, owner.id, () => name);
      return `${passkeysPath}?done=${isChanged ? 'renamed' : 'unchanged'}`;
    },
  });
  pages.run(remove, { ...form, path: `${passkeysPath}/:id/remove`, done: `${passkeysPath}?done=removed` });
}

/** Who sets up a passkey, and in which browser. */
export async function registrantOf(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  const { session, caller } = await enrolling.authenticate(deps, request);
  return { session, caller, browserToken: browserToken(deps, request, reply) };
}

/** The name that a new passkey has until its user gives another. */
export const suggestName = (request: FastifyRequest): string =>
  deviceName(request.headers['user-agent']) ?? request.view.plain('passkey.default_name');

/** A user who declines in a browser is not asked again there for this long. Another device may be the better place. */
const declinedSeconds = 90 * 86_400;

/** To users who sign in with a password and have no passkey yet. On a page of the account. */
export const offersPasskey = async (deps: Deps, request: FastifyRequest, session: Session): Promise<boolean> =>
  cookie(request, cookieNames(deps.config).passkeyOffer) !== session.user_id && isWithoutPasskey(deps, session);

/** The user has given a password in this session, and has no passkey. */
export const isWithoutPasskey = async (deps: Deps, { user_id, amr }: Session): Promise<boolean> =>
  amr.includes('pwd') && canHavePasskeys(deps.config) && (await listPasskeys(deps.db, user_id)).length === 0;
