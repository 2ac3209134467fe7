import { type TObject, type TSchema, Type } from '../platform/schema.ts';
import { compile, type Validator } from '../platform/validator.ts';
import { type KindName, kindNames, singleKinds } from './kind.ts';
import { ApiEntry } from './kinds/apis.ts';
import { AttributeEntry } from './kinds/attributes.ts';
import { BrandEntry } from './kinds/brand.ts';
import { ClientHostEntry } from './kinds/client-hosts.ts';
import { ClientEntry } from './kinds/clients.ts';
import { GroupEntry } from './kinds/groups.ts';
import { ProviderEntry } from './kinds/providers.ts';
import { CredentialEntry } from './kinds/service-credentials.ts';
import { SettingsEntry } from './kinds/settings.ts';
import { WebhookEntry } from './kinds/webhooks.ts';

// What a file may say. docs/config.schema.json is made of it.

export const apiVersion = 'signet/v1';

/** By which a file calls a resource, for as long as there is one. */
export const keyPattern = /^[a-z0-9][a-z0-9._-]{0,62}$/;

const entries: Readonly<Record<KindName, TObject>> = {
  providers: ProviderEntry,
  groups: GroupEntry,
  attributes: AttributeEntry,
  apis: ApiEntry,
  clients: ClientEntry,
  client_hosts: ClientHostEntry,
  service_credentials: CredentialEntry,
  webhooks: WebhookEntry,
  brand: BrandEntry,
  settings: SettingsEntry,
};

const keyed = (entry: TSchema, description: string): TSchema => ({
  type: 'object',
  description,
  patternProperties: { [keyPattern.source]: entry },
  additionalProperties: false,
});

const descriptions: Readonly<Record<KindName, string>> = {
  providers: 'Providers to sign in with, by a key of yours, which is the ID if there is no other.',
  groups: 'Groups of users, by a key of yours.',
  attributes: 'Attributes of users, by a key of yours. Values are not declared.',
  apis: 'APIs and their scopes, by a key of yours.',
  clients: 'First-party clients, by a key of yours, which is not the client_id.',
  client_hosts:
    'Hosts whose clients from outside are approved in advance, by a key of yours, which is the host if there is no other.',
  service_credentials: 'Service credentials, by a key of yours.',
  webhooks: 'Webhooks, by a key of yours.',
  brand: 'What the service looks like and is called. What is left out is as the settings have it.',
  settings:
    'Settings that are changed while the server runs, by name. What is left out stays as it is; null is the default.',
};

const listed = (name: KindName): TSchema =>
  singleKinds.includes(name)
    ? { ...entries[name], description: descriptions[name] }
    : keyed(entries[name], descriptions[name]);

export const Configuration = Type.Object(
  {
    $schema: Type.Optional(Type.String({ description: 'For editors.' })),
    apiVersion: Type.Literal(apiVersion),
    required_providers: Type.Optional(
      Type.Array(Type.String(), {
        description: 'IDs of providers that must be there, whether in settings or in the store.',
      }),
    ),
    ...Object.fromEntries(kindNames.map((name) => [name, Type.Optional(listed(name))])),
  },
  { additionalProperties: false },
);

/** Of one entry each: so a problem is found at its line, whatever else is wrong. */
export const shapes = Object.fromEntries(kindNames.map((name) => [name, compile(entries[name])])) as Readonly<
  Record<KindName, Validator<unknown>>
>;

export const schemaOfFiles = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Signet' };
