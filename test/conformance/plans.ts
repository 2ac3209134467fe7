import { newKeyPair } from '../support/client-keys.ts';
import type { Json, Variant } from './suite.ts';
import type { World } from './world.ts';

/** Of a user whom the suite adds to streams and removes, whatever its configuration says. */
export const subjectOfSuite = 'example.user@example.com';

/** A plan of the suite with the variants that it is run by. */
export type Run = {
  /** Also the alias by which the suite tells its callers apart. */
  name: string;
  plan: string;
  variant: Variant;
  addsPkce?: true;
  /** Modules that are left out: keys are rotated by hand during it, and the suite knows no OKP keys. */
  without?: readonly string[];
  configure(world: World, alias: string): Promise<Json>;
};

const discovery = ({ front }: World) => ({ discoveryUrl: `${front.url}/.well-known/openid-configuration` });

/** Its browser, HtmlUnit, fails at style sheets that all others can read. */
const options = { browsercontrol_css_enable: false };

/** Modules for which somebody has to look at the second sign-in. */
const signInsToLookAt = ['oidcc-prompt-login', 'oidcc-max-age-1'];

/** What the browser of the suite does on the pages of Signet: a task for each page, left out where it does not come. */
function browserOf({ front, suite, person }: World, looksAtSignIn = false): Json[] {
  const optional = true;
  // What a person would look at is kept, where a module asks for it.
  const photo = ['wait', 'css', 'h1', 10, '.', 'update-image-placeholder-optional'];
  const returned = {
    task: 'Return',
    optional,
    match: `${suite}test/*`,
    commands: [['wait', 'id', 'submission_complete', 10]],
  };
  const signIn = {
    task: 'Sign in',
    optional,
    match: `${front.url}/signin*`,
    commands: [
      ...(looksAtSignIn ? [photo] : []),
      ['text', 'id', 'username', person.email, 'optional'],
      ['text', 'id', 'password', person.password],
      ['click', 'id', 'signin-submit'],
    ],
  };
  const consent = {
    task: 'Consent',
    optional,
    match: `${front.url}/consent*`,
    commands: [['click', 'id', 'consent-allow']],
  };
  const refused = {
    task: 'Error page',
    optional,
    match: `${front.url}/oauth/authorize*`,
    commands: [photo],
  };
  return [
    { match: `${front.url}/oauth/authorize*`, tasks: [signIn, consent, refused, returned] },
    {
      match: `${front.url}/oauth/logout*`,
      tasks: [{ task: 'Sign-out page', optional, match: `${front.url}/*`, commands: [photo] }],
    },
  ];
}

const signals = (plan: string, mode: 'push' | 'poll', metadata: 'discovery' | 'static'): Run => ({
  name: `signet-${plan === 'openid-ssf-transmitter-caep-test-plan' ? 'caep' : 'ssf'}-${mode}-${metadata}`,
  plan,
  variant: { ssf_delivery_mode: mode, ssf_auth_mode: 'static', ssf_server_metadata: metadata },
  async configure(world) {
    const { front } = world;
    const valid = { format: 'email', email: subjectOfSuite };
    return {
      ssf: {
        subjects: { valid, invalid: { format: 'opaque', id: 'invalid' } },
        transmitter: {
          issuer: front.url,
          metadata_suffix: '',
          configuration_metadata_endpoint: `${front.url}/.well-known/ssf-configuration`,
          access_token: await world.receiverToken(),
          push_endpoint_authorization_header: 'Bearer of-the-receiver',
        },
      },
    };
  },
});

type Alg = 'EdDSA' | 'RS256';

const connect = (
  name: string,
  plan: string,
  variant: Variant,
  more: readonly string[] = [],
  alg: Alg = 'EdDSA',
): Run => ({
  name: `signet-${name}-${alg.toLowerCase()}`,
  plan,
  variant: { client_registration: 'static_client', ...variant },
  addsPkce: true,
  async configure(world, alias) {
    const wanted = {
      alg,
      publicClient: variant.client_auth_type === 'none',
      more: more.map((one) => one.replace('ALIAS', `${world.suite}test/a/${alias}`)),
    };
    const [client, client2, client_secret_post] = [
      await world.register(alias, wanted),
      await world.register(alias, wanted),
      await world.register(alias, wanted),
    ];
    const looking = { browser: browserOf(world, true) };
    const override = Object.fromEntries(signInsToLookAt.map((module) => [module, looking]));
    return {
      server: discovery(world),
      client,
      client2,
      client_secret_post,
      browser: browserOf(world),
      options,
      override,
    };
  },
});

const backChannel = ['--backchannel-logout-uri', 'ALIAS/backchannel_logout'];
const basic = { server_metadata: 'discovery' };
const code = { response_type: 'code' };

const fapi = (name: string, plan: string, variant: Variant, signed = false): Run => ({
  name: `signet-${name}`,
  plan,
  variant: {
    client_auth_type: 'private_key_jwt',
    sender_constrain: 'dpop',
    authorization_request_type: 'simple',
    fapi_profile: 'plain_fapi',
    ...variant,
  },
  async configure(world, alias) {
    const more = signed ? ['--require-signed-requests', 'on'] : [];
    const wanted = { profile: 'fapi2', more } as const;
    const client = await world.register(alias, { ...wanted, keys: newKeyPair('PS256') });
    const client2 = await world.register(alias, { ...wanted, keys: newKeyPair('ES256') });
    const rejecting = {
      match: `${world.front.url}/oauth/authorize*`,
      tasks: [
        { task: 'Cancel', match: `${world.front.url}/signin*`, commands: [['click', 'id', 'cancel-sign-in']] },
        { task: 'Return', match: `${world.suite}test/*`, commands: [['wait', 'id', 'submission_complete', 10]] },
      ],
    };
    // The first visit of this one must not sign in.
    const looking = { match: rejecting.match, 'match-limit': 1, tasks: [{ task: 'Look', commands: [] }] };
    return {
      server: discovery(world),
      resource: { resourceUrl: `${world.front.url}/oauth/userinfo` },
      client,
      client2,
      browser: browserOf(world),
      options,
      override: {
        'fapi2-security-profile-final-user-rejects-authentication': { browser: [rejecting] },
        'fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds': {
          browser: [looking, ...browserOf(world)],
        },
      },
    };
  },
});

const algorithms: readonly Alg[] = ['EdDSA', 'RS256'];
const caep = 'openid-ssf-transmitter-caep-test-plan';
const general = 'openid-ssf-transmitter-test-plan';

export const runs: readonly Run[] = [
  ...[caep, general].flatMap((plan) =>
    (['push', 'poll'] as const).flatMap((mode) =>
      (['discovery', 'static'] as const).map((metadata) => signals(plan, mode, metadata)),
    ),
  ),
  {
    name: 'signet-config',
    plan: 'oidcc-config-certification-test-plan',
    variant: {},
    configure: async (world) => ({ server: discovery(world) }),
  },
  ...algorithms.flatMap((alg) => [
    connect('basic', 'oidcc-basic-certification-test-plan', basic, [], alg),
    connect('form-post', 'oidcc-formpost-basic-certification-test-plan', basic, [], alg),
    connect('rp-initiated-logout', 'oidcc-rp-initiated-logout-certification-test-plan', code, [], alg),
    connect(
      'back-channel-logout',
      'oidcc-backchannel-rp-initiated-logout-certification-test-plan',
      code,
      backChannel,
      alg,
    ),
  ]),
  ...['none', 'client_secret_post'].map((client_auth_type) => ({
    ...connect(client_auth_type, 'oidcc-test-plan', { ...code, client_auth_type, response_mode: 'default' }),
    without: ['oidcc-server-rotate-keys'],
  })),
  fapi('fapi2', 'fapi2-security-profile-final-test-plan', { openid: 'openid_connect' }),
  fapi(
    'fapi2-message-signing',
    'fapi2-message-signing-final-test-plan',
    { openid: 'openid_connect', fapi_request_method: 'signed_non_repudiation', fapi_response_mode: 'plain_response' },
    true,
  ),
];
