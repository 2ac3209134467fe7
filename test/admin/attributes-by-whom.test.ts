import assert from 'node:assert/strict';
import { lesserRoles, permissionsOfRole, type Role } from '../../src/accounts/roles.ts';
import { changeRole } from '../../src/admin/users/administer-user.ts';
import { newAttribute } from '../support/attributes.ts';
import type { Answer } from '../support/browser.ts';
import { onBothEngines } from '../support/databases.ts';
import { linkIn } from '../support/mailbox.ts';
import { type Signet, startSignet } from '../support/signet.ts';

/** The user whose value it is, and what it is to be. */
type Asked = { name: string; id: string; value: string };
type Outcome = { user_id: string | undefined; status: number };

const reason = 'A test.';
const jsonHeaders = (authorization: string) => ({ authorization, 'content-type': 'application/json' });

async function withRole(signet: Signet, role: Role) {
  const user = await signet.signedInUser();
  await changeRole(signet.deps, { actor: 'cli' }, user.user_id, role);
  return user;
}

const edits =
  (role: Role) =>
  async (signet: Signet, { name, value }: Asked): Promise<Outcome> => {
    const { browser } = await withRole(signet, role);
    const { user_id } = await signet.newUser();
    const body = { attributes: { [name]: value }, reason };
    return { user_id, status: (await browser.patch(`/v1/admin/users/${user_id}`, body)).status };
  };

async function program(signet: Signet, permission: string, { name, value }: Asked): Promise<Outcome> {
  const { authorization } = await signet.newService({ permissions: [permission], products: [], expires_in_days: 9 });
  const { user_id } = await signet.newUser();
  const answer = await fetch(`${signet.url}/v1/admin/users/${user_id}`, {
    method: 'PATCH',
    headers: jsonHeaders(authorization),
    body: JSON.stringify({ attributes: { [name]: value }, reason }),
  });
  return { user_id, status: answer.status };
}

async function signsUp(signet: Signet, { name, id, value }: Asked): Promise<Outcome> {
  const browser = signet.newBrowser();
  const email = `${id.slice(4, 12).toLowerCase()}@example.com`.replaceAll('_', 'x');
  await browser.post('/signup', { email });
  const path = linkIn(await signet.mailbox.next(email), /^\/signup\//);
  await browser.get(path);
  const fields = {
    [id]: value,
    [name]: value,
    [`attributes.${name}`]: value,
    attributes: JSON.stringify({ [name]: value }),
  };
  const { status } = await browser.post(path, { name: 'Ada', password: 'harbour velvet cactus ninety', ...fields });
  return { user_id: (await browser.get('/v1/me')).json?.user_id as string | undefined, status };
}

const ofAnswer = (user_id: string, { status }: Answer): Outcome => ({ user_id, status });

const ways: Readonly<Record<string, (signet: Signet, asked: Asked) => Promise<Outcome>>> = {
  'a stranger at sign-up': signsUp,
  async 'a person by API'(signet, { name, value }) {
    const { browser, user_id } = await signet.signedInUser();
    return ofAnswer(user_id, await browser.patch('/v1/me', { attributes: { [name]: value } }));
  },
  async 'a person by the page'(signet, { id, value }) {
    const { browser, user_id } = await signet.signedInUser();
    return ofAnswer(user_id, await browser.post('/account', { name: 'Ada', [id]: value }));
  },
  async 'a person by the page of another user'(signet, { id, value }) {
    const { browser } = await signet.signedInUser();
    const { user_id } = await signet.newUser();
    const form = { name: 'Ada', reason, [id]: value };
    return ofAnswer(user_id, await browser.post(`/admin/users/${user_id}/edit`, form));
  },
  ...Object.fromEntries(
    [...lesserRoles, 'admin' as const].map((role) => [`a user with the role ${role}`, edits(role)]),
  ),
  'a program with users:write': (signet, asked) => program(signet, 'users:write', asked),
  'a program with users:read': (signet, asked) => program(signet, 'users:read', asked),
  'a program with attributes:write': (signet, asked) => program(signet, 'attributes:write', asked),
  async 'an import'(signet, { name, id, value }) {
    const { authorization } = await signet.newService({
      permissions: ['users:import'],
      products: [],
      expires_in_days: 9,
    });
    const users = [{ external_id: id, email: `${id.toLowerCase()}@import.test`, attributes: { [name]: value } }];
    const answer = await fetch(`${signet.url}/v1/admin/users/import`, {
      method: 'POST',
      headers: jsonHeaders(authorization),
      body: JSON.stringify({ users }),
    });
    const { results } = (await answer.json()) as { results: { user_id: string }[] };
    return { user_id: results[0]?.user_id, status: answer.status };
  },
};

const ofPeople = ['a stranger at sign-up', 'a person by API', 'a person by the page'];
const ofAdministration = [
  ...[...lesserRoles, 'admin' as const]
    .filter((role) => permissionsOfRole[role].has('users:write'))
    .map((role) => `a user with the role ${role}`),
  'a program with users:write',
  'an import',
];

onBothEngines(
  'UA-05: who gives a value to what people change themselves, and to what they do not',
  async (t, engine) => {
    const signet = await startSignet(t, { engine, mail: true, env: { SIGNET_RATE_LIMITS: 'off' } });
    const { attribute_id: own } = await newAttribute(signet, 'own', { editable_by: 'person', sign_up: 'offered' });
    const { attribute_id: given } = await newAttribute(signet, 'given');
    const { attribute_id: hidden } = await newAttribute(signet, 'hidden', { is_shown: false });
    const admin = await signet.signedInUser({ role: 'admin' });
    for (const [way, act] of Object.entries(ways)) {
      for (const [name, id] of [
        ['own', own],
        ['given', given],
        ['hidden', hidden],
      ] as const) {
        const { user_id, status } = await act(signet, { name, id, value: 'a value' });
        const mayGive = ofAdministration.includes(way) || (name === 'own' && ofPeople.includes(way));
        const record =
          user_id && (await admin.browser.get(`/v1/admin/users/${user_id}`, { accept: 'application/json' }));
        const { attributes = {} } = (record ? record.json : {}) as { attributes?: object };
        assert.deepEqual(attributes, mayGive ? { [name]: 'a value' } : {}, `${way}: ${name} (${status})`);
      }
    }
  },
);
