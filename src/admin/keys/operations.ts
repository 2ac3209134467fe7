import { signingAlgorithms } from '../../clients/choices.ts';
import { listKeys, publishedBeforeUseSeconds, rotateNow } from '../../oauth/signing-keys/signing-keys.ts';
import type { KeyRecord as Key } from '../../oauth/statements.ts';
import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { list, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration } from '../operation-parts.ts';

const KeyRecord = Type.Object({
  kid: Type.String(),
  algorithm: Type.Enum([...signingAlgorithms]),
  status: Type.Enum(['next', 'active', 'retiring', 'retired']),
  created_at: Time,
  activated_at: nullable(Time),
  retired_at: nullable(Time),
});

const describe = (keys: readonly Key[]) =>
  list([
    ['KID', 'ALGORITHM', 'STATUS', 'PUBLISHED', 'ACTIVE SINCE', 'ACTIVE UNTIL'],
    ...keys.map(({ kid, algorithm, status, created_at, activated_at, retired_at }) => [
      kid,
      algorithm,
      status,
      time(created_at),
      time(activated_at),
      time(retired_at),
    ]),
  ]);

const waitMinutes = publishedBeforeUseSeconds / 60;

export const keyOperations = {
  list: operation({
    ...administration('keys:read'),
    id: 'listSigningKeys',
    method: 'GET',
    path: '/v1/admin/keys',
    summary: 'List the signing keys',
    description:
      'A `next` key is published and does not sign yet, the `active` one signs, and a `retiring` one is published until the tokens that it signed have expired. A `retired` key is in no key set: until the sessions from when it signed have ended, its public half verifies an `id_token_hint`, and nothing else. The private half is deleted when a key stops signing.',
    answer: { description: 'Public keys only, by algorithm.', schema: Type.Object({ keys: Type.Array(KeyRecord) }) },
    run: async (deps) => ({ keys: await listKeys(deps) }),
    command: {
      name: 'keys list',
      summary:
        'List the signing keys. Active keys sign; next keys are published in advance; retiring keys still verify; retired keys verify id_token_hint only and are not published.',
      text: ({ keys }) => describe(keys),
    },
  }),

  rotate: operation({
    ...administration('keys:write'),
    id: 'rotateSigningKeys',
    method: 'POST',
    path: '/v1/admin/keys/rotate',
    summary: 'Rotate the signing keys',
    description: `The next keys sign from now on. A key published less than ${waitMinutes} minutes ago is skipped, because relying parties may not have fetched it yet.`,
    answer: {
      description: '`rotated` lists the keys that stopped signing; empty if the next keys are too new.',
      schema: Type.Object({ rotated: Type.Array(Type.String()), keys: Type.Array(KeyRecord) }),
    },
    async run(deps, { caller }) {
      const rotated = await rotateNow(deps, caller);
      await deps.keys.refresh(); // the key set is published at once
      return { rotated, keys: await listKeys(deps) };
    },
    command: {
      name: 'keys rotate',
      summary: `Rotate the signing keys. A next key published less than ${waitMinutes} minutes ago is skipped, because relying parties may not have fetched it yet.`,
      failed: ({ rotated }) => rotated.length === 0,
      text: ({ rotated, keys }) =>
        `${
          rotated.length > 0
            ? `Rotated; ${rotated.length === 1 ? 'one key' : `${rotated.length} keys`} stopped signing.`
            : `Nothing rotated: the next keys were published too recently. Try again in ${waitMinutes} minutes.`
        }\n\n${describe(keys)}`,
    },
  }),
};
