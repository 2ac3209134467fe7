import { adapters, type Product, products } from '../../imports/adapters/products.ts';
import { readFirebaseHash, readSource } from '../../imports/choices.ts';
import { optionalMembers } from '../../imports/format.ts';
import { importList } from '../../imports/import-list.ts';
import { nullable, operation } from '../../platform/http/operation.ts';
import { Type } from '../../platform/schema.ts';
import { administration, strictBody } from '../operation-parts.ts';

/** Users of one request: about two seconds on a slow disk. */
const maxUsers = 500;
/** Of a request; a user of all members is larger than most. */
export const importBodyKb = 1024;

const Problems = Type.Array(
  Type.Object({
    path: Type.String({ description: 'A JSON pointer into the user, without its first slash; empty: the whole user.' }),
    message: Type.String(),
  }),
);
const members = (description: string) => Type.Optional(Type.Array(Type.Enum([...optionalMembers]), { description }));

export const importOperation = operation({
  ...administration('users:import'),
  id: 'importUsers',
  method: 'POST',
  path: '/v1/admin/users/import',
  summary: 'Import users of another product',
  description:
    'Each user is imported whole or not at all, and what is refused for one does not stop the others. A user whose ID was ' +
    'imported before is left as they are, so a request may be repeated. No mail is sent, and no one becomes an administrator.',
  body: strictBody({
    users: Type.Array(Type.Unknown(), {
      minItems: 1,
      maxItems: maxUsers,
      description:
        'Users in our own format, which a JSON schema describes (docs/import/users.schema.json), or as `from` exports them.',
    }),
    from: Type.Optional(
      Type.Enum([...products], { description: 'Whose export it is; `signet`, our own, by default.' }),
    ),
    source: Type.Optional(
      Type.String({ description: 'The name under which the IDs are remembered; that of the product by default.' }),
    ),
    rp_id: Type.Optional(Type.String({ description: 'The RP ID of the passkeys, where the export does not say it.' })),
    firebase_hash: Type.Optional(
      Type.String({ description: 'Parameters of the Firebase project: `n=14,r=8,ss=Bw==` by default.' }),
    ),
    keep_subjects: Type.Optional(
      Type.Boolean({ description: 'The ID in the other product becomes the `user_id` here, and so the `sub`.' }),
    ),
    without: members('Imports no user with these members.'),
    drop_unusable: members('Leaves these members out where they cannot be used here, instead of refusing the user.'),
    dry_run: Type.Optional(Type.Boolean({ description: 'Says what would be imported, and changes nothing.' })),
  }),
  example: {
    users: [{ external_id: '42', email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' }],
  },
  answer: {
    description: 'One result for each user, in the order of the request.',
    schema: Type.Object({
      imported: Type.Integer({ description: 'Users who have an account by this request.' }),
      unchanged: Type.Integer({ description: 'Users who were imported before.' }),
      refused: Type.Integer({ description: 'Users who could not be imported.' }),
      results: Type.Array(
        Type.Object({
          external_id: nullable(Type.String({ description: 'The ID in the other product; null: there was none.' })),
          outcome: Type.Enum(['imported', 'unchanged', 'refused'], { description: 'What has become of the user.' }),
          user_id: nullable(Type.String({ description: 'null: refused, or not known before the import itself.' })),
          problems: Type.Array(Problems.items, { description: 'Why not; of an imported user, what was left out.' }),
        }),
      ),
    }),
  },
  refusals: ['invalid_request', 'content_too_large'],
  async run(deps, { caller, body }) {
    const product: Product = body.from ?? 'signet';
    const outcomes = await importList(
      deps,
      {
        adapter: adapters[product],
        settings: { rpId: body.rp_id ?? '', firebaseHash: readFirebaseHash(body.firebase_hash, 'firebase_hash') },
        source: readSource(body.source ?? product),
        caller,
        omissions: { without: new Set(body.without), dropUnusable: new Set(body.drop_unusable) },
        keepSubjects: body.keep_subjects ?? false,
        dryRun: body.dry_run ?? false,
      },
      body.users,
    );
    const count = (status: string) => outcomes.filter((one) => one.status === status).length;
    return {
      imported: count('imported'),
      unchanged: count('unchanged'),
      refused: count('refused'),
      results: outcomes.map((one) => ({
        external_id: one.external_id ?? null,
        outcome: one.status,
        user_id: one.status === 'refused' || (one.status === 'imported' && body.dry_run) ? null : one.user_id,
        problems: one.status === 'refused' ? [...one.problems] : one.status === 'imported' ? [...one.dropped] : [],
      })),
    };
  },
});
