import { invalidFields } from '../../platform/errors.ts';
import { nameInCode } from '../../platform/http/operation.ts';
import type { WebhookId } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { eventTypes } from '../../webhooks/event-types.ts';
import { allWebhooks } from '../../webhooks/list-webhooks.ts';
import {
  createWebhook,
  disable,
  editWebhook,
  enable,
  isSignedWith,
  removeWebhook,
  rotateSecret,
} from '../../webhooks/manage-webhook.ts';
import { readTerms } from '../../webhooks/terms.ts';
import { type Kind, type State, secretField } from '../kind.ts';
import { SecretReference } from '../secret-reference.ts';

export const WebhookEntry = Type.Object(
  {
    name: Type.String({ description: '1 to 100 characters.', ...nameInCode }),
    url: Type.String({ maxLength: 2000 }),
    event_types: Type.Array(Type.Enum([...eventTypes]), { minItems: 1, uniqueItems: true }),
    enabled: Type.Optional(Type.Boolean({ description: 'Left out: it stays as it is. A new one is enabled.' })),
    secret: Type.Optional(SecretReference),
  },
  { additionalProperties: false },
);

type Terms = { name: string; url: string; event_types: readonly string[] };
const termsOf = ({ name, url, event_types }: State) => ({ name, url, event_types }) as Terms;

/** Standard Webhooks: 24 to 64 bytes in base64. */
function secretProblem(secret: string): string | undefined {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const length = text === undefined ? 0 : Buffer.from(text, 'base64').length;
  return length >= 24 && length <= 64 ? undefined : 'The secret must be whsec_ and 24 to 64 random bytes in base64.';
}

export const webhooks: Kind = {
  name: 'webhooks',
  fixed: [],
  recognizedBy: ({ name }) => String(name),
  members: Object.keys(WebhookEntry.properties),
  list: async (deps) =>
    (await allWebhooks(deps)).map(({ webhook_id, name, url, event_types, disabled_at }) => ({
      id: webhook_id,
      state: {
        name: name ?? new URL(url).host,
        url,
        event_types: [...event_types].sort(),
        enabled: disabled_at === null,
      },
      hasSecret: (secret) => isSignedWith(deps, webhook_id, secret),
    })),
  read(deps, entry) {
    const { enabled, ...wanted } = entry as Static<typeof WebhookEntry>;
    if (wanted.name.trim() === '') throw invalidFields([{ path: 'name', message: 'Must not be empty.' }]);
    const { name, url, event_types } = readTerms(deps, wanted);
    return { name, url, event_types: [...event_types].sort(), ...(enabled !== undefined && { enabled }) };
  },
  usesSecret: () => true,
  secretProblem,
  async create({ deps, caller, secret: given }, state, made) {
    const { webhook_id, secret } = await createWebhook(deps, caller, { ...termsOf(state), secret: given });
    await made(webhook_id);
    if (state.enabled === false) await disable(deps, caller, webhook_id);
    return { webhook_id, ...(given === undefined && { secret }) };
  },
  async change({ deps, caller, secret }, { id }, state, fields) {
    const webhook_id = id as WebhookId;
    await editWebhook(deps, caller, webhook_id, termsOf(state));
    if (fields.includes('enabled')) await (state.enabled ? enable : disable)(deps, caller, webhook_id);
    if (fields.includes(secretField)) await rotateSecret(deps, caller, webhook_id, undefined, secret);
    return undefined;
  },
  remove: ({ deps, caller }, { id }) => removeWebhook(deps, caller, id as WebhookId),
  write: ({ enabled, ...state }) => ({ ...state, ...(enabled === false && { enabled }) }),
};
