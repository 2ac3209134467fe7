import type { Client } from '../../clients/client.ts';
import { findLibrary, symptomOf } from '../../clients/libraries/catalogue.ts';
import type { Library } from '../../clients/libraries/library.ts';
import { nullable } from '../../platform/http/operation.ts';
import { type Static, Type } from '../../platform/schema.ts';
import type { Inference } from './inferred-failures.ts';

const causes = [
  'algorithm',
  'claims',
  'nonce',
  'email',
  'session',
  'callback',
  'state',
  'issuer',
  'content_security_policy',
  'connection',
] as const;

export const Cause = Type.Object({
  cause: Type.Enum([...causes]),
  library_setting: nullable(Type.String({ description: 'The setting of its library that mends it.' })),
  client_setting: nullable(
    Type.Enum(['id_token_signed_response_alg', 'claims_in_id_token', 'redirect_uris'], {
      description: 'The field of the client.',
    }),
  ),
});
export type Cause = Static<typeof Cause>;

const causeOf = (cause: Cause['cause'], settings: Partial<Cause> = {}): Cause => ({
  cause,
  library_setting: null,
  client_setting: null,
  ...settings,
});

/** Undefined if the client names none, or one that only checks tokens. */
export function signInLibrary({ library }: Client): Library | undefined {
  const found = findLibrary(library);
  return found?.id === 'other' || found?.kinds.every((kind) => kind === 'service') ? undefined : found;
}

/** The likeliest first. None if the client may well be healthy. */
export const causesOf = (client: Client, inference: Inference): Cause[] =>
  inference.code === 'signed_in_again' ? causesOfRepetition(client, inference) : causesOfSilence(client, inference);

function causesOfRepetition(client: Client, { codes }: Inference): Cause[] {
  const library = signInLibrary(client);
  const algorithm = algorithmCause(client, library);
  // Only a server keeps a session. A page, or a program on a device, may sign in whenever it is loaded.
  if (client.application_type !== 'web') return algorithm.filter(() => library && !verifies(library, client));
  return [
    ...algorithm,
    ...claimsCause(client, library),
    ...(library === undefined && codes.every(({ has_nonce }) => !has_nonce) ? [causeOf('nonce')] : []),
    ...(codes.every(({ scope }) => !scope.split(' ').includes('email')) ? [causeOf('email')] : []),
    causeOf('session'),
  ];
}

const verifies = ({ algorithms }: Library, { id_token_signed_response_alg }: Client): boolean =>
  algorithms.includes(id_token_signed_response_alg);

/** A library that is unknown here, as many others, may expect RS256, which is the default of OpenID Connect (Core §3.1.3.7). */
function algorithmCause(client: Client, library: Library | undefined): Cause[] {
  const { id_token_signed_response_alg: algorithm } = client;
  if (library === undefined ? algorithm !== 'RS256' : !verifies(library, client)) {
    return [causeOf('algorithm', { client_setting: 'id_token_signed_response_alg' })];
  }
  const library_setting = symptomOf(library, 'algorithm')?.setting ?? null;
  const needsSetting = library_setting !== null && library?.algorithms[0] !== algorithm;
  return needsSetting ? [causeOf('algorithm', { library_setting })] : [];
}

function claimsCause({ claims_in_id_token }: Client, library: Library | undefined): Cause[] {
  const symptom = symptomOf(library, 'claims');
  if (claims_in_id_token || (library && !symptom)) return [];
  const library_setting = symptom?.setting ?? null;
  return [causeOf('claims', library_setting === null ? { client_setting: 'claims_in_id_token' } : { library_setting })];
}

function causesOfSilence(client: Client, { redirect_uri }: Inference): Cause[] {
  const library = signInLibrary(client);
  const callback = library?.callback?.startsWith('/') ? library.callback : undefined;
  const isElsewhere = callback !== undefined && URL.parse(redirect_uri)?.pathname.endsWith(callback) === false;
  return [
    ...(isElsewhere ? [causeOf('callback', { client_setting: 'redirect_uris' })] : []),
    causeOf('state', { library_setting: symptomOf(library, 'state')?.setting ?? null }),
    causeOf('issuer'),
    causeOf(client.application_type === 'spa' ? 'content_security_policy' : 'connection'),
  ];
}
