import { idPattern, maxLogoKb, maxLogoSide } from '../../authentication/credentials/providers.ts';
import { checkProviderOf } from '../../authentication/federation/check-provider.ts';
import {
  allProviders,
  findProvider,
  type ListedProvider,
  useOfProvider,
} from '../../authentication/federation/list-providers.ts';
import {
  createProvider,
  editProvider,
  removeProvider,
  setProviderLogo,
  turnOff,
  turnOn,
} from '../../authentication/federation/manage-provider.ts';
import { longestIssuer } from '../../authentication/federation/provider-rules.ts';
import { takeSignals } from '../../authentication/federation/provider-signals.ts';
import { receiptsOfProvider } from '../../authentication/upstream-events/receipts.ts';
import { answerOf } from '../../platform/edited.ts';
import { inCode, operation } from '../../platform/http/operation.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { list, shownOnce, table, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration, strictBody } from '../operation-parts.ts';
import { Provider, ProviderCheckRecord, Receipt, record, SignalsBody, SignalsSecret, terms, Use } from './records.ts';

const endpoint = '/v1/admin/providers';

const reading = { ...administration('providers:read'), parameters: { provider: 'ID of the provider.' } } as const;
const writing = {
  ...administration('providers:write'),
  parameters: { provider: 'ID of a provider of the store.' },
  refusals: ['not_found', 'invalid_state'],
} as const;

const stateOf = ({ disabled_at, is_hidden }: ListedProvider) =>
  is_hidden ? 'hidden by settings' : disabled_at === null ? 'on' : 'off';

const usedBy = ({ linked, alone, is_complete }: { linked: number; alone: number; is_complete: boolean }) =>
  `${linked}${is_complete ? '' : ' or more'} linked, ${alone} of them with no other way to sign in`;

export const providerOperations = {
  list: operation({
    ...administration('providers:read'),
    id: 'listSignInProviders',
    method: 'GET',
    path: endpoint,
    summary: 'List the providers to sign in with',
    answer: {
      description: 'Those of the settings, then those of the store, oldest first; without secrets.',
      schema: Type.Object({ providers: Type.Array(Provider) }),
    },
    run: async (deps) => ({ providers: await allProviders(deps) }),
    command: {
      name: 'providers list',
      text: ({ providers }) =>
        list([
          ['PROVIDER', 'STATE', 'FROM', 'LABEL', 'ISSUER'],
          ...providers.map((one) => [one.id, stateOf(one), one.source, one.label, one.issuer]),
        ]),
    },
  }),

  get: operation({
    ...reading,
    id: 'getSignInProvider',
    method: 'GET',
    path: `${endpoint}/:provider`,
    summary: 'Get a provider, and how many people sign in with it',
    answer: {
      description: 'Without its secret.',
      schema: Type.Object({
        ...record,
        people: Use,
        received: Type.Array(Receipt, {
          description: 'What came in of it in the last 90 days, by kind and outcome, the newest first.',
        }),
      }),
    },
    refusals: ['not_found'],
    async run(deps, { provider }) {
      const found = await findProvider(deps, provider);
      const [people, received] = await Promise.all([useOfProvider(deps, found), receiptsOfProvider(deps, found)]);
      return { ...found, people, received };
    },
    command: {
      name: 'providers show',
      text: (one) =>
        table([
          ['Provider', one.id],
          ['Label', one.label],
          ['State', stateOf(one)],
          ['From', one.source],
          ['Issuer', one.issuer],
          ['Client ID', one.client_id],
          ['Redirect URI', one.redirect_uri],
          ['Back-channel logout URI', one.backchannel_logout_uri],
          ['Signals URI', one.has_signals_secret ? one.signals_uri : null],
          ['Signals audience', one.signals_audience],
          ['Groups claim', one.groups_claim ?? ''],
          ['Scope', one.scope ?? ''],
          ['Created', time(one.created_at)],
          ['People', usedBy(one.people)],
          ...one.received.map(({ kind, outcome, last_at, times }) => [
            kind === 'logout' ? 'Logout token' : 'Security event',
            `${outcome} ${times === 1 ? 'once' : `${times} times`}, ${time(last_at)}`,
          ]),
        ]),
    },
  }),

  create: operation({
    ...administration('providers:write'),
    id: 'createSignInProvider',
    method: 'POST',
    path: endpoint,
    summary: 'Add a provider to sign in with (OpenID Connect)',
    description:
      'Whoever controls it can sign in as everyone who is linked with it, and as everyone whose verified address it asserts. Its ' +
      'discovery document and keys are read first, under the rules for webhooks: internal addresses must be in ' +
      '`SIGNET_WEBHOOK_INTERNAL`. It is used on every node within a second. All administrators are notified by email.',
    body: strictBody({
      id: Type.String({
        description: 'In `/auth/{id}/login`: a letter, then letters and digits, at most 20. It never changes.',
        ...inCode({ pattern: idPattern }),
      }),
      issuer: Type.Optional(
        Type.String({
          description: 'Its issuer; may be left out for `google`. It never changes.',
          ...inCode({ format: 'uri', maxLength: longestIssuer }),
        }),
      ),
      ...terms,
      label: Type.Optional(terms.label),
    }),
    example: {
      id: 'acme',
      issuer: 'https://id.acme.example',
      label: 'Acme',
      client_id: 'signet',
      client_secret: 'a secret of the provider',
    },
    answer: { description: 'The provider.', schema: Provider },
    refusals: ['invalid_request', 'invalid_state'],
    run: (deps, { caller, body }) => createProvider(deps, caller, body),
    command: {
      name: 'providers add',
      summary: 'Add a provider to sign in with (OpenID Connect). Asks for the client secret on a terminal.',
      operands: { id: { value: 'provider' } },
      secret: { member: 'client_secret', words: 'Client secret' },
      text: ({ id, redirect_uri }) =>
        `${id} has been added. Register this redirect URI there, if you have not:\n${redirect_uri}`,
    },
  }),

  edit: operation({
    ...writing,
    id: 'editSignInProvider',
    method: 'PATCH',
    path: `${endpoint}/:provider`,
    summary: 'Edit a provider',
    description: 'Members that are left out stay as they are. To change ID or issuer, add another provider.',
    body: strictBody(
      {
        ...terms,
        label: Type.Optional(terms.label),
        client_id: Type.Optional(terms.client_id),
        client_secret: Type.Optional(terms.client_secret),
      },
      { minProperties: 1 },
    ),
    example: { label: 'Acme' },
    answer: { description: 'The provider after the change.', schema: Provider },
    refusals: ['not_found', 'invalid_state', 'invalid_request'],
    run: async (deps, { caller, provider, body }) => answerOf(await editProvider(deps, caller, provider, body)),
    command: {
      name: 'providers edit',
      summary: 'Edit a provider. With --client-secret-stdin, its client secret is read from standard input.',
      secret: { member: 'client_secret', words: 'Client secret' },
      text: ({ id }) => `${id} has been changed.`,
    },
  }),

  setLogo: operation({
    ...writing,
    id: 'setSignInProviderLogo',
    method: 'PUT',
    path: `${endpoint}/:provider/logo`,
    summary: 'Upload the picture on the button of a provider',
    description: `A PNG, JPEG or WebP file, recognized by its bytes, of which only what is drawn is kept: a square of at most ${maxLogoSide} pixels a side and ${maxLogoKb} KB. It stands on white, in the dark as well, in place of a mark that is shipped. Whether its owner allows it is yours to judge.`,
    body: strictBody({
      content: Type.String({
        description: 'The file in base64.',
        ...inCode({ contentEncoding: 'base64', maxLength: Math.ceil((maxLogoKb * 1024) / 3) * 4 }),
      }),
    }),
    example: {
      content: 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQAQAAAAA3iMLMAAAAC0lEQVR4nGNgwA0AAB4AAeVJ3TEAAAAASUVORK5CYII=',
    },
    answer: { description: 'The provider after the change.', schema: Provider },
    refusals: ['not_found', 'invalid_state', 'invalid_request'],
    run: async (deps, { caller, provider, body }) =>
      answerOf(await setProviderLogo(deps, caller, provider, Buffer.from(body.content, 'base64'))),
  }),

  removeLogo: operation({
    ...writing,
    id: 'removeSignInProviderLogo',
    method: 'DELETE',
    path: `${endpoint}/:provider/logo`,
    summary: 'Show the picture on the button of a provider no more',
    description: 'Its own mark is shown instead, where one is shipped.',
    answer: { description: 'The provider after the change.', schema: Provider },
    run: async (deps, { caller, provider }) => answerOf(await setProviderLogo(deps, caller, provider, undefined)),
    command: { name: 'providers remove-logo', text: ({ id }) => `${id} has no picture of its own.` },
  }),

  takeSignals: operation({
    ...writing,
    id: 'takeSignInProviderSignals',
    method: 'POST',
    path: `${endpoint}/:provider/signals-secret`,
    summary: 'Make the secret with which a provider pushes security events',
    description:
      'From then on they are taken with this secret alone. `signals_secret_hash` null, by an edit, ends that. Left out, the audience stays as it is.',
    body: strictBody(SignalsBody),
    bodyIsOptional: true,
    example: { audience: 'svc_0000000000000000000000' },
    answer: { description: 'What the provider needs to know.', schema: SignalsSecret },
    refusals: ['not_found', 'invalid_state', 'invalid_request'],
    async run(deps, { caller, provider, body }) {
      const made = await takeSignals(deps, caller, provider, body.audience);
      const { signals_uri, signals_audience, signals_secret } = made;
      return { signals_uri, signals_audience, signals_secret };
    },
    command: {
      name: 'providers signals-secret',
      summary: 'Make the secret with which a provider pushes security events. Prints it; it cannot be shown again.',
      text: ({ signals_uri, signals_secret }) => shownOnce({ 'Push address': signals_uri, Secret: signals_secret }),
    },
  }),

  enable: operation({
    ...writing,
    id: 'enableSignInProvider',
    method: 'POST',
    path: `${endpoint}/:provider/enable`,
    summary: 'Enable a provider',
    description: 'Its documents are read first, as when it is added.',
    answer: { description: 'The provider.', schema: Provider },
    refusals: ['not_found', 'invalid_state', 'invalid_request'],
    run: (deps, { caller, provider }) => turnOn(deps, caller, provider),
    command: { name: 'providers enable', text: ({ id }) => `${id} is enabled.` },
  }),

  disable: operation({
    ...writing,
    id: 'disableSignInProvider',
    method: 'POST',
    path: `${endpoint}/:provider/disable`,
    summary: 'Disable a provider',
    description: 'Nobody signs in with it any more, on every node within a second. Sessions that began with it go on.',
    answer: { description: 'The provider.', schema: Provider },
    run: (deps, { caller, provider }) => turnOff(deps, caller, provider),
    command: { name: 'providers disable', text: ({ id }) => `${id} is disabled.` },
  }),

  delete: operation({
    ...writing,
    id: 'deleteSignInProvider',
    method: 'DELETE',
    path: `${endpoint}/:provider`,
    summary: 'Remove a provider',
    description:
      'People who sign in with it alone then need a link to set a password. Their links with it are kept: a provider that is added ' +
      'with the same issuer finds them.',
    answer: { description: 'Removed. How many people it concerns.', schema: Use },
    run: (deps, { caller, provider }) => removeProvider(deps, caller, provider),
    command: {
      name: 'providers remove',
      confirm: 'People who sign in with it alone cannot sign in any more; providers show says how many.',
      summary: 'Remove a provider. Says how many people sign in with it alone.',
      json: (people, { provider }) => ({ removed: provider, ...people }),
      text: (people, { provider }) => `${provider} has been removed: ${usedBy(people)}.`,
    },
  }),

  check: operation({
    ...administration('settings:read'),
    id: 'checkProvider',
    method: 'POST',
    path: '/v1/admin/settings/providers/:provider/check',
    summary: 'Check a sign-in provider',
    description: 'Reads its discovery document and its keys anew. At most 30 per hour.',
    parameters: { provider: 'As in `/auth/{provider}/login`.' },
    answer: { description: 'What was found, or what is wrong.', schema: ProviderCheckRecord },
    refusals: ['not_found', 'rate_limited'],
    async run(deps, { caller, provider }) {
      await windowLimit(deps, { name: 'provider-check', limit: 30, windowSeconds: 3600 }).take(caller.actor);
      return checkProviderOf(deps, provider);
    },
    command: {
      name: 'providers check',
      summary: 'Check a sign-in provider. Exits with 1 if it cannot be used.',
      failed: ({ problem }) => problem !== null,
      text: ({ issuer, redirect_uri, found, problem }) =>
        table([
          ['Issuer', issuer],
          ['Redirect URI', redirect_uri],
          ['Sign-in page', found?.authorization_endpoint ?? null],
          ['Keys', found?.keys ?? null],
          ['Problem', problem],
        ]),
    },
  }),
};
