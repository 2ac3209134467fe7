import { type FieldProblem, fieldProblem, invalidFields } from '../platform/errors.ts';
import type { Client } from './client.ts';

/** Whether it is held to the FAPI 2.0 Security Profile, which its other fields cannot loosen (decision 52). */
export const isFapi = ({ profile }: Pick<Client, 'profile'>): boolean => profile === 'fapi2';

type Held = Pick<
  Client,
  'profile' | 'client_type' | 'token_endpoint_auth_method' | 'id_token_signed_response_alg' | 'redirect_uris'
>;

/**
 * What keeps a client from its profile. The rest of it is demanded of each request: pushed, with tokens that are bound to a key.
 * Sections are those of the FAPI 2.0 Security Profile.
 */
export function profileProblems(client: Partial<Held>): FieldProblem[] {
  if (client.profile !== 'fapi2') return [];
  const {
    client_type,
    token_endpoint_auth_method: method,
    id_token_signed_response_alg: alg,
    redirect_uris = [],
  } = client;
  return [
    // §5.3.2.1-5, 6: confidential, and authenticated by a key.
    ...(client_type === 'confidential' ? [] : [fieldProblem('client_type', { key: 'problem.profile.client_type' })]),
    ...(method === 'private_key_jwt'
      ? []
      : [fieldProblem('token_endpoint_auth_method', { key: 'problem.profile.token_endpoint_auth_method' })]),
    // §5.4.1: PS256, ES256 or EdDSA, of which we sign with the last.
    ...(alg === 'RS256'
      ? [fieldProblem('id_token_signed_response_alg', { key: 'problem.profile.id_token_signed_response_alg' })]
      : []),
    // §5.3.2.2-8: http is for native apps, which cannot be confidential.
    ...redirect_uris.flatMap((uri, place) =>
      uri.startsWith('https:')
        ? []
        : [fieldProblem(`redirect_uris/${place}`, { key: 'problem.profile.redirect_uris' })],
    ),
  ];
}

/** @throws invalidFields with every problem. */
export function requireProfile(client: Held): void {
  const problems = profileProblems(client);
  if (problems.length > 0) throw invalidFields(problems);
}
