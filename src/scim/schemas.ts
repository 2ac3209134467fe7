import { locales } from '../platform/i18n/translate.ts';

// What is published at /Schemas, /ResourceTypes and /ServiceProviderConfig (RFC 7643 §5 to §7).

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const ownSchemas = 'urn:ietf:params:scim:schemas:core:2.0';

/** Resources of one answer. */
export const mostResults = 200;
export const defaultResults = 100;

type Attribute = {
  name: string;
  description: string;
  type?: 'string' | 'boolean' | 'complex' | 'reference' | 'integer';
  required?: true;
  multiValued?: true;
  caseExact?: true;
  mutability?: 'readOnly' | 'immutable';
  returned?: 'request';
  uniqueness?: 'server';
  canonicalValues?: readonly string[];
  referenceTypes?: readonly string[];
  subAttributes?: readonly Attribute[];
};

const published = ({ type = 'string', subAttributes, ...given }: Attribute): object => ({
  multiValued: false,
  required: false,
  mutability: 'readWrite',
  returned: 'default',
  ...(type === 'string' || type === 'reference' ? { caseExact: false } : {}),
  ...(type === 'complex' || type === 'boolean' ? {} : { uniqueness: 'none' }),
  ...given,
  type,
  ...(subAttributes && { subAttributes: subAttributes.map(published) }),
});

const userAttributes: readonly Attribute[] = [
  {
    name: 'userName',
    description: 'The name by which the directory knows the user, mostly an email address.',
    required: true,
    uniqueness: 'server',
  },
  {
    name: 'name',
    description: 'The parts of the name.',
    type: 'complex',
    subAttributes: [
      { name: 'givenName', description: 'The given name.' },
      { name: 'middleName', description: 'The middle name.' },
      { name: 'familyName', description: 'The family name.' },
    ],
  },
  { name: 'displayName', description: 'The name that others see.' },
  { name: 'nickName', description: 'The casual name.' },
  {
    name: 'preferredLanguage',
    description: 'The language of pages and mails. One that Signet does not have is not kept.',
    canonicalValues: locales,
  },
  {
    name: 'timezone',
    description: 'A name of the IANA time zone database.',
    canonicalValues: ['America/New_York', 'Asia/Tokyo', 'Europe/Berlin', 'UTC'],
  },
  {
    name: 'active',
    description: 'Whether the user may sign in. False ends sessions and grants. Left out at the creation: true.',
    type: 'boolean',
    required: true,
  },
  {
    name: 'emails',
    description: 'The email address of the account, of several the primary one. Left out: userName is the address.',
    type: 'complex',
    required: true,
    multiValued: true,
    subAttributes: [
      { name: 'value', description: 'The address.', required: true, uniqueness: 'server' },
      { name: 'type', description: 'Always work.', canonicalValues: ['work'] },
      { name: 'primary', description: 'As the directory says.', type: 'boolean' },
    ],
  },
  {
    name: 'groups',
    description: 'The groups that the user is in, if attributes names it.',
    returned: 'request',
    type: 'complex',
    multiValued: true,
    mutability: 'readOnly',
    subAttributes: [
      { name: 'value', description: 'The id of the group.', mutability: 'readOnly', caseExact: true },
      {
        name: '$ref',
        description: 'Its address.',
        type: 'reference',
        referenceTypes: ['Group'],
        mutability: 'readOnly',
        caseExact: true,
      },
      { name: 'display', description: 'Its name.', mutability: 'readOnly' },
    ],
  },
];

const groupAttributes: readonly Attribute[] = [
  {
    name: 'displayName',
    description: 'The name of the group, which no other group has.',
    required: true,
    uniqueness: 'server',
  },
  {
    name: 'members',
    description: 'The users in the group.',
    type: 'complex',
    multiValued: true,
    subAttributes: [
      { name: 'value', description: 'The id of the user.', mutability: 'immutable', caseExact: true },
      {
        name: '$ref',
        description: 'The address of the user.',
        type: 'reference',
        referenceTypes: ['User'],
        mutability: 'immutable',
        caseExact: true,
      },
      { name: 'type', description: 'Always User.', mutability: 'immutable', canonicalValues: ['User'] },
    ],
  },
];

/** The attributes of what describes the service itself, which are read alone. */
const described = (attributes: readonly Attribute[]): readonly Attribute[] =>
  attributes.map(({ subAttributes, ...attribute }) => ({
    ...attribute,
    mutability: 'readOnly',
    ...(subAttributes && { subAttributes: described(subAttributes) }),
  }));

const supported: Attribute = {
  name: 'supported',
  description: 'Whether it is supported.',
  type: 'boolean',
  required: true,
};
const feature = (name: string, ...more: Attribute[]): Attribute => ({
  name,
  description: `Whether ${name} is supported, and how far.`,
  type: 'complex',
  required: true,
  subAttributes: [supported, ...more],
});
const limit = (name: string): Attribute => ({ name, description: 'The most.', type: 'integer', required: true });
const words = (name: string, description: string): Attribute => ({ name, description, required: true });

const configAttributes = described([
  { name: 'documentationUri', description: 'A page for people.', type: 'reference', referenceTypes: ['external'] },
  feature('patch'),
  feature('bulk', limit('maxOperations'), limit('maxPayloadSize')),
  feature('filter', limit('maxResults')),
  feature('changePassword'),
  feature('sort'),
  feature('etag'),
  {
    name: 'authenticationSchemes',
    description: 'How a directory authenticates.',
    type: 'complex',
    required: true,
    multiValued: true,
    subAttributes: [
      words('type', 'The kind of scheme.'),
      words('name', 'Its name.'),
      words('description', 'How it is used.'),
    ],
  },
]);

const typeAttributes = described([
  words('name', 'The name of the type.'),
  { name: 'description', description: 'What it is.' },
  {
    name: 'endpoint',
    description: 'Its path.',
    type: 'reference',
    referenceTypes: ['uri'],
    required: true,
    uniqueness: 'server',
  },
  {
    name: 'schema',
    description: 'Its schema.',
    type: 'reference',
    referenceTypes: ['uri'],
    required: true,
    caseExact: true,
  },
]);

/** Attributes have attributes, in two levels. */
const attributesOf = (below: readonly Attribute[]): readonly Attribute[] => [
  words('name', 'The name of the attribute.'),
  words('type', 'The kind of its values.'),
  { name: 'multiValued', description: 'Whether it has several.', type: 'boolean', required: true },
  { name: 'description', description: 'What it is.' },
  { name: 'required', description: 'Whether it is required.', type: 'boolean' },
  { name: 'canonicalValues', description: 'Values that are suggested.', multiValued: true },
  { name: 'caseExact', description: 'Whether case counts.', type: 'boolean' },
  { name: 'mutability', description: 'Whether it can be written.', caseExact: true },
  { name: 'returned', description: 'When it is returned.', caseExact: true },
  { name: 'uniqueness', description: 'Among which resources it is unique.', caseExact: true },
  { name: 'referenceTypes', description: 'What it may refer to.', multiValued: true, caseExact: true },
  ...below,
];

const schemaAttributes = described([
  words('name', 'The name of the schema.'),
  { name: 'description', description: 'What it is.' },
  {
    name: 'attributes',
    description: 'Its attributes.',
    type: 'complex',
    required: true,
    multiValued: true,
    subAttributes: attributesOf([
      {
        name: 'subAttributes',
        description: 'Attributes of the attribute.',
        type: 'complex',
        multiValued: true,
        subAttributes: attributesOf([]),
      },
    ]),
  },
]);

const schemas = [
  [userSchema, 'User', 'A user account.', userAttributes],
  [groupSchema, 'Group', 'A group of users.', groupAttributes],
  [`${ownSchemas}:ServiceProviderConfig`, 'ServiceProviderConfig', 'What the service can do.', configAttributes],
  [`${ownSchemas}:ResourceType`, 'ResourceType', 'A type of resources.', typeAttributes],
  [`${ownSchemas}:Schema`, 'Schema', 'The description of a type.', schemaAttributes],
] as const;

const meta = (resourceType: string, location: string) => ({ meta: { resourceType, location } });

/** @param root the URL of `/scim/v2`. */
export const schemaResources = (root: string) =>
  schemas.map(([id, name, description, attributes]) => ({
    schemas: [`${ownSchemas}:Schema`],
    id,
    name,
    description,
    attributes: attributes.map(published),
    ...meta('Schema', `${root}/Schemas/${id}`),
  }));

export const resourceTypes = (root: string) =>
  [
    ['User', '/Users', 'User accounts.', userSchema],
    ['Group', '/Groups', 'Groups of users.', groupSchema],
  ].map(([name = '', endpoint, description, schema]) => ({
    schemas: [`${ownSchemas}:ResourceType`],
    id: name,
    name,
    endpoint,
    description,
    schema,
    ...meta('ResourceType', `${root}/ResourceTypes/${name}`),
  }));

export const serviceProviderConfig = (root: string) => ({
  schemas: [`${ownSchemas}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: mostResults },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Bearer token',
      description: 'The id of a service credential, a dot, and its secret.',
    },
    { type: 'httpbasic', name: 'HTTP Basic', description: 'The id of a service credential, and its secret.' },
  ],
  ...meta('ServiceProviderConfig', `${root}/ServiceProviderConfig`),
});
