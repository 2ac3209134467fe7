import { usesSecret } from '../../clients/authentication-methods.ts';
import type { Client } from '../../clients/client.ts';
import type { FailureCode } from '../../clients/failures.ts';
import { now } from '../../platform/clock.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { clientSecret, readBasic } from '../../platform/http/access.ts';
import { findActiveSecret, matchesActiveSecret } from '../../platform/ids.ts';
import { Type } from '../../platform/schema.ts';
import { assertionMissing } from './client-assertion.ts';
import type { Method, ProofDeps, Refusal } from './method.ts';

/** RFC 6749 §2.3.1: an empty secret counts as none, as the body is read, too. */
export const clientSecretBasic: Method = {
  presents({ authorization, form }) {
    if (authorization === undefined) return undefined;
    if (form.client_secret !== undefined && !/^basic /i.test(authorization)) throw differing('client_secret');
    const { client_id, client_secret } = readBasic(authorization);
    return { client_id, proof: client_secret || undefined };
  },
  prove,
  parameters: {},
  access: clientSecret,
  words: 'with its secret in HTTP Basic',
};

export const clientSecretPost: Method = {
  presents: ({ form: { client_id, client_secret } }) =>
    client_secret === undefined ? undefined : { client_id, proof: client_secret },
  prove,
  parameters: {
    client_secret: Type.Optional(Type.String({ description: 'Of a client with secrets, here or in HTTP Basic.' })),
  },
  access: clientSecret,
  words: 'with its secret in the body',
};

async function prove(
  deps: ProofDeps,
  client: Client,
  { proof = '', address }: { proof: string | undefined; address: string },
): Promise<Refusal | undefined> {
  const secret = findActiveSecret(client.secrets, proof, now(deps));
  if (usesSecret(client) && secret) {
    deps.clientSecretUses.note(secret.secret_id);
    return undefined;
  }
  await deps.clientSecretLimits.failed(client.client_id, address);
  return usesSecret(client) || client.client_type === 'public' ? { code: failureOf(client, proof) } : assertionMissing;
}

function failureOf(client: Client, proof: string): FailureCode {
  if (!usesSecret(client)) return 'secret_of_public';
  const ignoringExpiry = client.secrets.map((secret) => ({ ...secret, expires_at: null }));
  return matchesActiveSecret(ignoringExpiry, proof, 0) ? 'secret_ended' : 'secret_wrong';
}

export const differing = (parameter: string) =>
  invalidRequest(`${parameter} in the body differs from the one in HTTP Basic. Send it once, or the same twice.`);
