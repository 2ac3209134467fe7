/**
 * What `npm test` tries in a store of eight cells, too: by file, the names of its tests that cross cells the most. `npm run test:cells`
 * tries everything.
 */
export const inCells: Readonly<Record<string, readonly string[]>> = {
  'test/authentication/account-links.test.ts': [
    'a user signs up with a link from a mail',
    'an address changes when its new mailbox is shown to be theirs',
    'a deleted account is gone at once, and its address can be used again',
  ],
  'test/authentication/upstream-logout.test.ts': [
    'a sign-out of the account at a provider ends all its sessions that began until then',
    'a session is found by sid alone, and one without a sid by its account',
  ],
  'test/clients/own-clients.test.ts': ['clients'],
  'test/entitlements/entitlements.test.ts': ['a written entitlement'],
  'test/oauth/consent.test.ts': ['CO-01: a consent that was taken back asks again'],
  'test/oauth/my-apps.test.ts': [
    "other people's apps are there once somebody uses them; those for a group, for its members alone",
  ],
  'test/oauth/refresh.test.ts': ['a refresh token'],
  'test/oauth/token.test.ts': ['an authorization code'],
  'test/self-service/sessions-and-connected-apps.test.ts': ['a user looks after their sessions and applications'],
  'test/webhooks/webhooks.test.ts': ['an event is delivered once, signed as Standard Webhooks says'],
};
