import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inEnglish } from '../platform/i18n/translate.ts';
import { isPrivateUse, matchesRegistered, redirectUriProblem } from './redirect-uri.ts';

const matches = (
  redirect_uris: readonly string[],
  requested: string,
  application_type: 'web' | 'spa' | 'native' = 'native',
) => matchesRegistered({ redirect_uris, application_type }, requested);

const accepted = [
  'https://rp.test/cb',
  'https://rp.test',
  'https://rp.test/',
  'https://rp.test:8443/cb?tenant=1&x=a%20b',
  'https://rp.test/@name/cb',
  'https://xn--bcher-kva.example/cb',
  'https://192.0.2.7/cb',
  // Other spellings of the same address: the client has to send them as they are registered.
  'HTTPS://RP.test/cb',
  'https://rp.test:443/cb',
  'https://rp.test:/cb',
  'https://rp.test:08443/cb',
  'https://rp.test:0/cb',
  'https://rp.test./cb',
  'https://rp.test?x=1',
  'http://localhost:80/cb',
  'https://rp.test/%7Eme',
  'https://rp.test/%63b',
  "https://rp.test/cb?x='a'",
  'https://rp.test/caf%c3%a9',
  // Whatever a query says of its own is the client's.
  'https://rp.test/cb?next=%2Fhome',
  'https://rp.test/cb?next=%252Fhome%3Fa%3D1&back=%5c',
  'https://rp.test/cb?path=../x',
  'https://rp.test/cb?codes=1&estate=2&issue=3&x=code&error-code=4',
  'http://localhost/cb',
  'http://localhost:3000/cb',
  'http://127.0.0.1/cb',
  'http://127.0.0.1:9/cb',
  'http://[::1]/cb',
  'http://[::1]:51004/cb',
];
for (const uri of accepted) {
  test(`${uri} may be registered`, () => assert.equal(redirectUriProblem(uri), undefined));
}

const refused = {
  'another scheme': [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'ftp://rp.test/',
  ],
  'a scheme without a domain name': ['myapp://cb', 'myapp:/cb'],
  'no scheme': [
    '',
    'rp.test/cb',
    '/cb',
    '//rp.test/cb',
    'https:rp.test/cb',
    'https:/rp.test/cb',
    'https://',
    'https:///cb',
  ],
  'http off this machine': [
    'http://rp.test/cb',
    'http://127.0.0.1.evil.test/cb',
    'http://localhost.evil.test/cb',
    'http://127.0.0.2/cb',
    'http://app.localhost/cb',
    'http://[::ffff:7f00:1]/cb',
    'http://0.0.0.0/cb',
  ],
  'an IP address in disguise': [
    'http://127.1/cb',
    'http://0x7f.1/cb',
    'http://2130706433/cb',
    'http://[0:0:0:0:0:0:0:1]/cb',
  ],
  'a host that some readers end early': [
    'https://rp.test;.evil.test/cb',
    'https://rp.test,evil.test/cb',
    'https://rp.test&.evil.test/cb',
    "https://rp.test'/cb",
  ],
  'a fragment': ['https://rp.test/cb#f', 'https://rp.test/cb#'],
  'a user name': [
    'https://a@rp.test/cb',
    'https://a:b@rp.test/cb',
    'https://@rp.test/cb',
    'https://rp.test@evil.test/cb',
    'https://rp.test:443@evil.test/cb',
  ],
  'a wildcard': ['https://*.rp.test/cb', 'https://rp.test/*', 'https://rp.test/cb?x=*'],
  'a backslash': ['https://rp.test\\@evil.test/cb', 'https:\\\\rp.test/cb', 'https://rp.test/cb\\x'],
  'control characters and spaces': [
    'https://rp.test/cb\0',
    'https://rp.test/cb\r\nX: y',
    'https://rp.te\tst/cb',
    ' https://rp.test/cb',
    'https://rp.test/cb ',
    'https://rp.test/a b',
    'https://rp.test/cb\x7f',
  ],
  'characters that need an escape': [
    'https://rp.test/<cb>',
    'https://rp.test/"',
    'https://rp.test/{a}',
    'https://rp.test/a|b',
  ],
  'letters outside ASCII': [
    'https://bücher.example/cb',
    'https://rp.test/é',
    'https://rp.test/e\u0301',
    'https://rр.test/cb',
  ],
  'dot segments': [
    'https://rp.test/cb/../x',
    'https://rp.test/./cb',
    'https://rp.test/cb/..',
    'https://rp.test/cb/..;/x',
    'https://rp.test/cb/.;a/x',
  ],
  'encoded tricks': [
    'https://rp.test/cb%2f',
    'https://rp.test/cb%2F..',
    'https://rp.test/cb/%2e%2e/x',
    'https://rp.test/cb%5cx',
    'https://rp.test/cb%00',
    'https://rp.test/cb%0d%0aX',
    'https://rp.test/cb%252f',
    'https://rp.test/cb%',
    'https://rp.test/cb%zz',
    'https://rp%2etest/cb',
  ],
  'encoded dot segments': ['https://rp.test/cb/%2E%2e/x', 'https://rp.test/.%2e', 'https://rp.test/cb/..%3b/x'],
  'control characters in its query': [
    'https://rp.test/cb?x=%0d%0aX',
    'https://rp.test/cb?x=%00',
    'https://rp.test/?%7F',
  ],
  'a port that is none': ['https://rp.test:65536/cb', 'https://rp.test:x/cb'],
  'a parameter of the answer in its query': [
    ...['code', 'state', 'iss', 'error', 'error_description', 'error_uri', 'response', 'session_state'],
    ...['id_token', 'access_token', 'token_type', 'expires_in'],
    ...['%63ode', 'c%6Fde', 'CODE', 'State', '+code', 'code%20', 'code[]', 'code%5B0%5D', 'x=1;code', 'a=b&iss'],
  ].flatMap((name) => [`https://rp.test/cb?${name}=x`, `https://rp.test/cb?a=1&${name}`]),
  'more than 2048 characters': [`https://rp.test/${'a'.repeat(2048)}`],
};
for (const [what, uris] of Object.entries(refused)) {
  test(`a redirect URI with ${what} is refused, with a reason that does not repeat it`, () => {
    for (const uri of uris) {
      const sentence = redirectUriProblem(uri);
      const problem = sentence && inEnglish(sentence);
      assert.match(problem ?? 'accepted', /^[\x20-\x7e]+\.$/, uri);
      assert.ok(uri === '' || !problem?.includes(uri), uri);
    }
  });
}

test('whatever may be registered has one reading: the URL parser writes it as it stands, on an allowed origin', () => {
  const parts = fc.array(
    fc.constantFrom(
      'https://',
      'http://',
      'localhost',
      '127.0.0.1',
      '[::1]',
      'rp.test',
      ':',
      '443',
      '8443',
      '/',
      '..',
      '.',
      ';',
      '%2e',
      '%20',
      '@',
      '\\',
      '?',
      '#',
      '*',
      'a',
      'B',
      'é',
      '\t',
    ),
    { maxLength: 9 },
  );
  const uris = fc.oneof(
    parts.map((words) => words.join('')),
    parts.map((words) => `https://rp.test/${words.join('')}`),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.string(),
  );
  fc.assert(
    fc.property(uris, (uri) => {
      if (redirectUriProblem(uri) !== undefined || isPrivateUse(uri)) return;
      const url = new URL(uri);
      assert.equal(/^https?:\/\/([^/?]*?)(?::\d*)?(?:[/?]|$)/i.exec(uri)?.[1]?.toLowerCase(), url.hostname);
      const rest = uri.replace(/^[^/]*\/\/[^/?]*/, '');
      assert.equal(decodeURI(`${url.pathname}`), decodeURI(rest.replace(/\?.*$/s, '') || '/'), 'nothing is resolved');
      assert.ok(url.protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname));
      assert.equal(url.hash + url.username + url.password, '');
      assert.ok(matches([uri], uri));
    }),
    { numRuns: 500 },
  );
});

test('a requested redirect URI is compared as a string (AZ-01)', () => {
  const registered = ['https://rp.test/cb', 'https://rp.test/caf%C3%A9', 'https://other.test/cb'];
  for (const uri of registered) assert.equal(matches(registered, uri), true);
  const attacks = [
    '',
    'https://rp.test',
    'https://rp.test/',
    'https://rp.test/cb/',
    'https://rp.test/CB',
    'HTTPS://rp.test/cb',
    'https://RP.test/cb',
    'https://rp.test:443/cb',
    'https://rp.test:8443/cb',
    'https://rp.test/cb?',
    'https://rp.test/cb?x=1',
    'https://rp.test/%63b',
    'https://rp.test/cb/..;/x',
    'https://rp.test/cb/../x',
    'https://rp.test/x/../cb',
    'https://rp.test/cb%2f',
    'https://rp.test/cb#',
    'https://rp.test/cb#f',
    'https://rp.test/cb%00',
    'https://rp.test/cb\0',
    'https://rp.test/cb%0d%0a',
    'https://rp.test/cb\t',
    'https://rp.test/cb\n',
    ' https://rp.test/cb',
    'https://rp.test@evil.test/cb',
    'https://a@b@evil.test/cb',
    'https://rp.test\\@evil.test/cb',
    'https://rp.test.evil.test/cb',
    'https://rp.test./cb',
    'http://rp.test/cb',
    'https://rр.test/cb',
    'https://rp.test/cafe\u0301',
    'https://rp.test/caf%c3%a9',
    'https://rp.test/café',
  ];
  for (const uri of attacks) assert.equal(matches(registered, uri), false, uri);
});

test('a loopback IP literal matches at any port, and in nothing else (AZ-03, RFC 8252 §7.3)', () => {
  const registered = ['http://127.0.0.1/cb'];
  for (const port of ['', ':1', ':80', ':51004', ':65535']) {
    assert.equal(matches(registered, `http://127.0.0.1${port}/cb`), true, port);
  }
  const attacks = [
    'http://127.0.0.1:51004/x',
    'http://127.0.0.1:51004/cb/',
    'http://127.0.0.1:51004/cb?x=1',
    'http://127.0.0.1:51004/cb#f',
    'http://127.0.0.1:51004',
    'http://127.0.0.1:/cb',
    'http://127.0.0.1:0/cb',
    'http://127.0.0.1:080/cb',
    'http://127.0.0.1:65536/cb',
    'http://127.0.0.1:99999/cb',
    'http://127.0.0.1:+80/cb',
    'http://127.0.0.1:51004@evil.test/cb',
    'http://127.0.0.1:51004\\@evil.test/cb',
    'http://127.0.0.1@evil.test/cb',
    'http://127.0.0.1.evil.test/cb',
    'http://127.0.0.1:51004.evil.test/cb',
    'http://127.0.0.1\\.evil.test/cb',
    'https://127.0.0.1:51004/cb',
    'HTTP://127.0.0.1:51004/cb',
    'http://127.1:51004/cb',
    'http://0x7f.1:51004/cb',
    'http://127.0.0.2:51004/cb',
    'http://[::ffff:127.0.0.1]:51004/cb',
    'http://[::1]:51004/cb',
    'http://localhost:51004/cb',
    'http://127.0.0.1:51004/cb\n',
    '\nhttp://127.0.0.1:51004/cb',
  ];
  for (const uri of attacks) assert.equal(matches(registered, uri), false, uri);
});

test('ports are free on [::1] too, and on a registered port of a literal; https keeps its own', () => {
  assert.equal(matches(['http://[::1]/cb'], 'http://[::1]:51004/cb'), true);
  assert.equal(matches(['http://[::1]/cb'], 'http://127.0.0.1:51004/cb'), false);
  assert.equal(matches(['http://127.0.0.1:3000/cb?a=1'], 'http://127.0.0.1:51004/cb?a=1'), true);
  assert.equal(matches(['http://127.0.0.1'], 'http://127.0.0.1:51004'), true);
  assert.equal(matches(['http://127.0.0.1:0/cb'], 'http://127.0.0.1:51004/cb'), true);
  assert.equal(matches(['https://127.0.0.1/cb'], 'https://127.0.0.1:8443/cb'), false);
  assert.equal(matches([], 'http://127.0.0.1/cb'), false);
});

test('localhost that is registered without a port matches at any port, and in nothing else (AZ-03, RFC 8252 §8.3)', () => {
  for (const port of ['', ':1', ':80', ':51004', ':65535']) {
    assert.equal(matches(['http://localhost/cb'], `http://localhost${port}/cb`), true, port);
    assert.equal(matches(['http://localhost'], `http://localhost${port}`), true, port);
  }
  const attacks = [
    'http://localhost:51004/x',
    'http://localhost:51004/cb/',
    'http://localhost:51004/cb?x=1',
    'http://localhost:51004/cb#f',
    'http://localhost:51004',
    'http://localhost:/cb',
    'http://localhost:0/cb',
    'http://localhost:080/cb',
    'http://localhost:65536/cb',
    'http://localhost:51004@evil.test/cb',
    'http://localhost@evil.test/cb',
    'http://localhost.evil.test/cb',
    'http://localhost:51004.evil.test/cb',
    'http://localhost.:51004/cb',
    'http://app.localhost:51004/cb',
    'http://LOCALHOST:51004/cb',
    'https://localhost:51004/cb',
    'http://127.0.0.1:51004/cb',
    'http://[::1]:51004/cb',
    'http://localhost:51004/cb\n',
  ];
  for (const uri of attacks) assert.equal(matches(['http://localhost/cb'], uri), false, uri);
});

test('localhost that is registered with a port keeps it, also one in another spelling (AZ-03)', () => {
  for (const port of [':3000', ':80', ':0', ':']) {
    assert.equal(matches([`http://localhost${port}/cb`], `http://localhost${port}/cb`), true, port);
    assert.equal(matches([`http://localhost${port}/cb`], 'http://localhost:3001/cb'), false, port);
    assert.equal(matches([`http://localhost${port}/cb`], 'http://localhost/cb'), false, port);
  }
});

test('only a native app may choose its port', () => {
  for (const application_type of ['web', 'spa'] as const) {
    assert.equal(matches(['http://localhost/cb'], 'http://localhost:51004/cb', application_type), false);
    assert.equal(matches(['http://127.0.0.1/cb'], 'http://127.0.0.1:51004/cb', application_type), false);
    assert.equal(matches(['http://127.0.0.1/cb'], 'http://127.0.0.1/cb', application_type), true);
  }
});

test('a private-use scheme is a domain name in reverse (RFC 8252 §7.1)', () => {
  const usable = [
    'com.example.app:/callback',
    'com.example.app://callback',
    'com.example.app:/oauth2redirect/example-provider?tenant=7',
    'uk.co.example.my-app:/cb',
  ];
  for (const uri of usable) {
    assert.equal(redirectUriProblem(uri), undefined, uri);
    assert.ok(isPrivateUse(uri));
    assert.ok(matches([uri], uri));
    assert.equal(matches([uri], `${uri}/x`), false);
  }
  const unusable = [
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'ftp://rp.test/cb',
    'ws://rp.test/cb',
    'myapp:/callback',
    'myapp://callback',
    'com.example.app:callback',
    'com.example.app:',
    'com.example.app:/',
    'com.example.app:///cb',
    'com.example.app://rp.test:443/cb',
    'rp.testhttps://https://',
    'com..app:/cb',
    'com.example.:/cb',
    'COM.example.app:/cb',
    'com.example.app:/cb#x',
    'com.example.app://user@host/cb',
    'com.example.app:/../cb',
    'com.example.app:/cb?code=1',
    'com.example.app:/cb*',
    'com.example.äpp:/cb',
  ];
  for (const uri of unusable) assert.ok(redirectUriProblem(uri), uri);
});
