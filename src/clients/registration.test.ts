import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { RequestError } from '../platform/errors.ts';
import { published } from '../platform/http/operation.ts';
import { mixesScripts } from './presentation.ts';
import { checkDraft, RegistrationBody, readClientEdit, readRegistration } from './registration.ts';

const valid = { name: 'Example App', client_type: 'public', redirect_uris: ['https://rp.test/cb'] };

/** @returns path → message of the refusal. */
function problemsOf(body: unknown, read: (body: unknown) => unknown = readRegistration): Record<string, string> {
  try {
    read(body);
  } catch (error) {
    assert.ok(error instanceof RequestError && error.code === 'invalid_request', String(error));
    const fields = error.details.fields as { path: string; message: string }[];
    assert.ok(fields.length > 0);
    for (const { path, message } of fields) assert.match(`${path} ${message}`, /^[\x20-\x7e]+$/);
    return Object.fromEntries(fields.map(({ path, message }) => [path, message]));
  }
  return assert.fail('accepted');
}

test('a registration comes back with the defaults of the specification', () => {
  assert.partialDeepStrictEqual(readRegistration({ ...valid, name: '  Example App ' }), {
    name: 'Example App',
    client_type: 'public',
    application_type: 'web',
    redirect_uris: ['https://rp.test/cb'],
    post_logout_redirect_uris: [],
    backchannel_logout_uri: null,
    backchannel_logout_session_required: false,
    allowed_scopes: ['openid', 'profile', 'email'],
    default_acr_values: [],
    logo_url: null,
    homepage_url: null,
    initiate_login_uri: null,
    policy_uri: null,
    tos_uri: null,
    id_token_signed_response_alg: 'EdDSA',
    claims_in_id_token: false,
    token_endpoint_auth_method: null,
    library: null,
    note_to_reviewer: null,
  });
});

test('a public client that listens on a loopback IP literal is native unless it says otherwise', () => {
  const typeOf = (changes: object) => readRegistration({ ...valid, ...changes }).application_type;
  for (const uri of ['http://127.0.0.1/cb', 'http://127.0.0.1:8000/cb', 'http://[::1]:0/cb']) {
    assert.equal(typeOf({ redirect_uris: [uri] }), 'native', uri);
    assert.equal(typeOf({ redirect_uris: [uri], client_type: 'confidential' }), 'web', uri);
    assert.equal(typeOf({ redirect_uris: [uri], application_type: 'spa' }), 'spa', uri);
  }
  assert.equal(typeOf({ redirect_uris: ['http://localhost:8000/cb'] }), 'web');
});

test('only a native app may register a scheme of its own', () => {
  const redirect_uris = ['com.example.app:/cb'];
  assert.equal(readRegistration({ ...valid, redirect_uris }).application_type, 'native');
  for (const application_type of ['web', 'spa']) {
    const problems = problemsOf({ ...valid, redirect_uris, application_type });
    assert.deepEqual(Object.keys(problems), ['redirect_uris/0'], application_type);
  }
  const outside = { post_logout_redirect_uris: redirect_uris, redirect_uris: ['https://rp.test/cb'] };
  assert.deepEqual(Object.keys(problemsOf({ ...valid, ...outside })), ['post_logout_redirect_uris/0']);
  assert.deepEqual(Object.keys(problemsOf({ ...valid, redirect_uris, client_type: 'confidential' })), [
    'redirect_uris/0',
  ]);
});

test('an app that cannot keep a secret is a public client', () => {
  for (const application_type of ['spa', 'native']) {
    const problems = problemsOf({ ...valid, client_type: 'confidential', application_type });
    assert.deepEqual(Object.keys(problems), ['application_type']);
  }
});

test('the method of authentication suits the type of the client', () => {
  const problemOf = (client_type: string, token_endpoint_auth_method: string) =>
    Object.keys(problemsOf({ ...valid, client_type, token_endpoint_auth_method }));
  assert.deepEqual(problemOf('confidential', 'none'), ['token_endpoint_auth_method']);
  assert.deepEqual(problemOf('public', 'client_secret_basic'), ['token_endpoint_auth_method']);
  assert.deepEqual(problemOf('public', 'private_key_jwt'), ['token_endpoint_auth_method']);
  assert.equal(readRegistration({ ...valid, token_endpoint_auth_method: 'none' }).token_endpoint_auth_method, 'none');
});

test('the addresses of a sign-out follow the rules of redirect URIs', () => {
  for (const uri of [
    'http://rp.test/out',
    'https://rp.test/out#x',
    'https://*.rp.test/',
    'javascript:alert(1)',
    '/out',
  ]) {
    assert.ok(problemsOf({ ...valid, post_logout_redirect_uris: [uri] })['post_logout_redirect_uris/0'], uri);
    assert.ok(problemsOf({ ...valid, backchannel_logout_uri: uri }).backchannel_logout_uri, uri);
  }
  const many = Array.from({ length: 21 }, (_, index) => `https://rp.test/out/${index}`);
  assert.ok(problemsOf({ ...valid, post_logout_redirect_uris: many }).post_logout_redirect_uris);
});

test('http on loopback may be registered for logout tokens, and the API description says so', () => {
  const described = Compile(published(RegistrationBody));
  for (const uri of ['http://localhost:4100/backchannel-logout', 'http://[::1]:4100/', 'https://rp.test/logout']) {
    const body = { ...valid, client_type: 'confidential', backchannel_logout_uri: uri };
    assert.equal(readRegistration(body).backchannel_logout_uri, uri);
    assert.ok(described.Check(body), uri);
  }
  const privateUse = { ...valid, backchannel_logout_uri: 'com.example.app:/logout' };
  assert.ok(problemsOf(privateUse).backchannel_logout_uri);
  assert.ok(!described.Check(privateUse));
});

test('everything that may be chosen is taken as chosen', () => {
  const chosen = {
    name: 'Füße & Söhne 東京',
    client_type: 'confidential',
    application_type: 'web',
    redirect_uris: Array.from({ length: 20 }, (_, index) => `https://rp.test/cb/${index}`),
    post_logout_redirect_uris: Array.from({ length: 20 }, (_, index) => `https://rp.test/out/${index}`),
    backchannel_logout_uri: 'https://rp.test/logout?tenant=7',
    backchannel_logout_session_required: true,
    allowed_scopes: ['openid', 'offline_access', 'entitlements:read'],
    default_acr_values: ['urn:signet:acr:2fa'],
    logo_url: 'https://rp.test/logo.png',
    homepage_url: 'https://rp.test/',
    initiate_login_uri: 'https://rp.test/login?from=portal',
    policy_uri: 'https://rp.test/privacy',
    tos_uri: 'https://legal.test/terms?of=rp',
    id_token_signed_response_alg: 'RS256',
    claims_in_id_token: true,
    token_endpoint_auth_method: 'client_secret_post',
    jwks_uri: 'https://rp.test/jwks.json',
    jwks: null,
    status_in_access_token: true,
    dpop_bound_access_tokens: true,
    require_pushed_authorization_requests: true,
    require_signed_request_object: true,
    library: 'openid-client',
    note_to_reviewer: 'The first one of the three.',
  };
  assert.deepEqual(readRegistration(chosen), chosen);
});

test('a library that the catalogue does not have is refused by name', () => {
  for (const library of ['nothing', '', 'OPENID-CLIENT', '__proto__', 7, ['openid-client']]) {
    assert.deepEqual(Object.keys(problemsOf({ ...valid, library })), ['library'], JSON.stringify(library));
  }
});

test('what the service chooses cannot be sent (CL-01)', () => {
  for (const member of [
    'client_id',
    'client_secret',
    'status',
    'state',
    'approved',
    'owner',
    'owner_user_id',
    'consent',
    'revision',
    'constructor',
  ]) {
    assert.deepEqual(Object.keys(problemsOf({ ...valid, [member]: 'x' })), [''], member);
  }
  assert.deepEqual(Object.keys(problemsOf(JSON.parse('{"__proto__":{"status":"approved"}}'))).sort(), [
    '',
    'client_type',
    'name',
    'redirect_uris',
  ]);
});

test('a body of unknown members alone is refused with a reason', () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`member${index}`, 1]));
  assert.deepEqual(Object.keys(problemsOf({ ...valid, ...many })), ['']);
});

test('a body that is no object is refused', () => {
  for (const body of [undefined, null, [], 'x', 1, true]) problemsOf(body);
});

test('all problems come at once, and none repeats what was sent', () => {
  const body = {
    name: '',
    client_type: 'sEcReT',
    redirect_uris: ['https://rp.test/cb', 'http://sEcReT.test/cb', 7],
    allowed_scopes: ['openid', 'sEc ReT'],
    logo_url: 'http://sEcReT.test/',
    homepage_url: 'javascript:sEcReT',
    id_token_signed_response_alg: 'sEcReT',
    sEcReT: 1,
  };
  const problems = problemsOf(body);
  assert.deepEqual(Object.keys(problems).sort(), [
    '',
    'allowed_scopes/1',
    'client_type',
    'homepage_url',
    'id_token_signed_response_alg',
    'logo_url',
    'name',
    'redirect_uris/1',
    'redirect_uris/2',
  ]);
  assert.doesNotMatch(JSON.stringify(problems), /sEcReT/);
});

test('every required member is named when it is missing', () => {
  assert.deepEqual(problemsOf({}), {
    name: 'Is required.',
    client_type: 'Is required.',
    redirect_uris: 'Is required.',
  });
});

test('what is no address is told once, and what is wrong with it', () => {
  for (const field of ['redirect_uris', 'post_logout_redirect_uris'] as const) {
    assert.throws(
      () => readRegistration({ ...valid, [field]: ['foo'] }),
      ({ problems }: { problems: { path: string; userMessage: { key: string } }[] }) => {
        assert.deepEqual(
          problems.map(({ path, userMessage }) => [path, userMessage.key]),
          [[`${field}/0`, 'problem.redirect_uri.scheme']],
        );
        return true;
      },
    );
  }
});

test('there are 1 to 20 redirect URIs, each once', () => {
  const many = Array.from({ length: 21 }, (_, index) => `https://rp.test/${index}`);
  for (const redirect_uris of [[], many, ['https://rp.test/cb', 'https://rp.test/cb'], 'https://rp.test/cb', null]) {
    assert.ok(problemsOf({ ...valid, redirect_uris }).redirect_uris);
  }
});

test('HT-01: of a long list no reader compares more entries than could be accepted', () => {
  for (const field of ['redirect_uris', 'post_logout_redirect_uris', 'allowed_scopes']) {
    for (const read of [checkDraft, readRegistration, readClientEdit]) {
      let farthest = 0;
      const list = new Proxy(
        Array.from({ length: 200 }, () => ({})),
        {
          get(target, key, receiver) {
            if (typeof key === 'string' && /^\d+$/.test(key)) farthest = Math.max(farthest, Number(key));
            return Reflect.get(target, key, receiver);
          },
        },
      );
      try {
        read({ [field]: list });
      } catch (error) {
        assert.ok(error instanceof RequestError);
      }
      assert.ok(farthest <= 20, `${read.name} ${field} reads entry ${farthest}`);
    }
  }
});

test('a name has 1 to 100 characters that show what they are (CL-03)', () => {
  const refused = [
    '',
    '   ',
    'a'.repeat(101),
    'a\0b',
    'a\nb',
    'a\u202eb',
    'a\u200bb',
    'a\u2066b',
    'a\u00adb',
    '\u3164',
    'a\ufeffb',
    'a\ud800b',
    'a\u2028b',
    '\u0301',
  ];
  for (const name of refused) assert.ok(problemsOf({ ...valid, name }).name, JSON.stringify(name));
  for (const name of [1, null, ['a'], {}]) assert.ok(problemsOf({ ...valid, name }).name);
  // Markup is an honest text: pages escape it.
  for (const name of ['a', '😀'.repeat(100), '<img src=x onerror=alert(1)>', 'Müller', '123', '❤️']) {
    assert.equal(readRegistration({ ...valid, name }).name, name);
  }
  assert.equal(readRegistration({ ...valid, name: 'u\u0308' }).name, '\u00fc');
});

test('a reviewer is warned of a name in mixed alphabets', () => {
  assert.equal(mixesScripts('PayPal'), false);
  assert.equal(mixesScripts('Яндекс 24'), false);
  assert.equal(mixesScripts('Pаypal'), true); // with a Cyrillic "а"
});

test('logo and homepage are https, and a logo has a host with a name', () => {
  const refused = [
    '',
    'x',
    'http://rp.test/logo.png',
    'data:image/png;base64,AAAA',
    'javascript:alert(1)',
    'https://',
    'https://a:b@rp.test/',
    'https://rp.test/a b',
    'https://rp.test/"onerror=',
    'https://rp.test/\\x',
    'https://bücher.example/',
    `https://rp.test/${'a'.repeat(2048)}`,
    7,
  ];
  for (const url of refused) {
    assert.ok(problemsOf({ ...valid, logo_url: url }).logo_url, String(url));
    for (const field of ['homepage_url', 'initiate_login_uri', 'policy_uri', 'tos_uri']) {
      assert.ok(problemsOf({ ...valid, [field]: url })[field], `${field} ${url}`);
    }
  }
  const addresses = [
    'https://127.0.0.1/l.png',
    'https://0x7f.1/',
    'https://[::1]/l',
    'https://192.0.2.1:8443/',
    'https://localhost/l',
    'https://2130706433/',
  ];
  for (const logo_url of addresses) assert.ok(problemsOf({ ...valid, logo_url }).logo_url, logo_url);
});

test('what is sent to a start address besides its own query is sent by us alone, and is not hidden behind a fragment', () => {
  const refused = [
    '?iss=https://evil.test',
    '?a=b&login_hint=x',
    '?target_link_uri=https://evil.test',
    '#x',
    '#',
    '?%69ss=x',
  ];
  for (const end of refused)
    assert.ok(problemsOf({ ...valid, initiate_login_uri: `https://rp.test/login${end}` }).initiate_login_uri, end);
  for (const end of ['', '?issued=1', '?from=portal&x'])
    assert.equal(
      readRegistration({ ...valid, initiate_login_uri: `https://rp.test/login${end}` }).initiate_login_uri,
      `https://rp.test/login${end}`,
    );
});

test('an edit has the members that were sent, may clear an address, and cannot change what the service chooses', () => {
  assert.deepEqual(readClientEdit({ name: ' B ', logo_url: null }), {
    revision: undefined,
    fields: { name: 'B', logo_url: null },
    note_to_reviewer: undefined,
  });
  assert.equal(readClientEdit({ note_to_reviewer: ' It sells\r\nbooks. ' }).note_to_reviewer, 'It sells\nbooks.');
  for (const note_to_reviewer of ['', ' ', 'x'.repeat(501), 'a\u0007b', 1])
    assert.ok(problemsOf({ note_to_reviewer }, readClientEdit).note_to_reviewer);
  for (const member of ['client_id', 'client_type', 'status', 'consent', 'refresh_retry_window', 'pending_change']) {
    assert.deepEqual(Object.keys(problemsOf({ [member]: 'x' }, readClientEdit)), ['']);
  }
  for (const revision of [0, -1, 1.5, '1', true, null, 2 ** 53])
    assert.ok(problemsOf({ revision }, readClientEdit).revision);
  assert.ok(problemsOf({ redirect_uris: ['javascript:x'] }, readClientEdit)['redirect_uris/0']);
});

test('no body whatever ends in anything but a registration or a refusal', () => {
  const members = fc.record(
    {
      name: fc.anything(),
      client_type: fc.constantFrom('public', 'confidential', 'x'),
      redirect_uris: fc.oneof(fc.array(fc.oneof(fc.webUrl(), fc.string(), fc.anything())), fc.anything()),
      logo_url: fc.oneof(fc.webUrl(), fc.anything()),
      homepage_url: fc.oneof(fc.webUrl(), fc.anything()),
      allowed_scopes: fc.anything(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(members, fc.jsonValue(), fc.anything()), (body) => {
      try {
        readRegistration(body);
      } catch (error) {
        assert.ok(error instanceof RequestError, String(error));
      }
    }),
    { numRuns: 300 },
  );
});
