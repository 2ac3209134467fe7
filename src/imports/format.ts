import { nullable } from '../platform/http/operation.ts';
import { type Static, type TSchema, Type } from '../platform/schema.ts';

// What a user is before the import: one JSON object, a line of a file or an element of a request. docs/import/users.schema.json
// is made of it.

/** Bytes of one user: a line, or an element of a document. */
export const longestUser = 262_144;

const maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(nullable(schema));
const text = (description: string, maxLength = 2048) => maybe(Type.String({ description, maxLength }));
const seconds = (description: string) => maybe(Type.Integer({ description, minimum: 0, maximum: 253_402_300_799 }));

const Totp = Type.Object(
  {
    secret: Type.String({ description: 'In base32, as authenticator apps take it.', maxLength: 256 }),
    algorithm: text('SHA1, which is also meant by none.', 16),
    digits: maybe(Type.Integer({ description: '6, which is also meant by none.' })),
    period: maybe(Type.Integer({ description: 'Seconds: 30, which is also meant by none.' })),
    confirmed_at: seconds('When it was set up, in Unix seconds.'),
    last_used_at: seconds('When a code was last accepted, in Unix seconds.'),
  },
  { additionalProperties: false },
);

const Identity = Type.Object(
  {
    provider: text('ID of a provider that is configured here; this or `issuer`.', 2048),
    issuer: text('Issuer of a provider that is configured here.', 2048),
    subject: Type.String({ description: 'The `sub` of the user there.', minLength: 1, maxLength: 255 }),
    email: text('What the user is called there, for lists.', 254),
    linked_at: seconds('Unix seconds.'),
    last_used_at: seconds('When the user last signed in by it, in Unix seconds.'),
  },
  { additionalProperties: false },
);

const Passkey = Type.Object(
  {
    rp_id: Type.String({ description: 'The RP ID for which it was made. It must be the host of this server.' }),
    credential_id: Type.String({ description: 'In base64url.', minLength: 1, maxLength: 1364 }),
    public_key: Type.String({ description: 'The COSE key, in base64url.', minLength: 1, maxLength: 2048 }),
    user_handle: text(
      'What the authenticator calls the user, in base64url; without it the user_id as this server has it.',
      86,
    ),
    sign_count: maybe(Type.Integer({ description: 'The last signature counter.', minimum: 0, maximum: 4_294_967_295 })),
    transports: maybe(Type.Array(Type.String({ maxLength: 20 }), { maxItems: 20 })),
    backed_up: maybe(Type.Boolean()),
    backed_up_at: seconds('Since when it is backed up, in Unix seconds.'),
    name: text('As its user calls it.', 100),
    created_at: seconds('Unix seconds.'),
    last_used_at: seconds('When the user last signed in with it, in Unix seconds.'),
  },
  { additionalProperties: false },
);

export const ImportedUser = Type.Object(
  {
    external_id: Type.String({
      description: 'The ID of the user in the other product. An ID that was imported before is not imported again.',
      minLength: 1,
      maxLength: 512,
    }),
    sub: text(
      'Becomes the `user_id` here, and so the `sub` of tokens: 1 to 255 letters, digits, `_`, `-`, `|` and `:`. Without it the user gets a new one.',
    ),
    email: Type.String({ description: 'The address, by which no account may be known yet.', maxLength: 1024 }),
    email_verified: maybe(Type.Boolean({ description: 'Whether the other product has verified the address.' })),
    email_verified_at: seconds('When it was verified, in Unix seconds.'),
    name: text('1 to 100 visible characters.'),
    given_name: text('1 to 100 visible characters.'),
    middle_name: text('1 to 100 visible characters.'),
    family_name: text('1 to 100 visible characters.'),
    nickname: text('1 to 100 visible characters.'),
    preferred_username: text('A unique username: 3 to 30 of a-z, 0-9, dot, underscore and hyphen.'),
    profile: text('An https or http address.'),
    website: text('An https or http address.'),
    picture: text('An https address.'),
    gender: text('1 to 100 visible characters.'),
    birthdate: text('`YYYY-MM-DD`, `0000-MM-DD` without the year, or `YYYY`.'),
    zoneinfo: text('A time zone of the IANA database, such as `Europe/Berlin`.'),
    locale: text('A language tag. A language that this server does not speak is left out.', 100),
    disabled: maybe(Type.Boolean({ description: 'Whether the user may not sign in.' })),
    disabled_at: seconds('Since when, in Unix seconds.'),
    created_at: seconds('When the account was made, in Unix seconds.'),
    updated_at: seconds('When the user or an administrator last changed it, in Unix seconds.'),
    last_sign_in_at: seconds('Unix seconds.'),
    password_hash: text('In one of the formats of password-hashes.md.', 4096),
    password_changed_at: seconds('When the password was set, in Unix seconds.'),
    password_min_characters: maybe(
      Type.Integer({
        description: 'What was required of its length when it was set. Without it, nothing is known.',
        minimum: 1,
        maximum: 1000,
      }),
    ),
    totp: maybe(Totp),
    identities: maybe(Type.Array(Identity, { maxItems: 20 })),
    passkeys: maybe(Type.Array(Passkey, { maxItems: 20 })),
    attributes: maybe(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Values of attributes that are defined here, by their names, each of its type.',
        maxProperties: 200,
      }),
    ),
    groups: maybe(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
        description: 'Names of groups that there are here already.',
        maxItems: 200,
      }),
    ),
  },
  {
    title: 'A user to import',
    description: 'One line of a file for `signet users import`. A member that is null is as good as none.',
    additionalProperties: false,
  },
);
export type ImportedUser = Static<typeof ImportedUser>;

export type Member = keyof ImportedUser;
/** What a line can do without. */
export const optionalMembers = (Object.keys(ImportedUser.properties) as Member[]).filter(
  (name) => name !== 'external_id' && name !== 'email',
);
