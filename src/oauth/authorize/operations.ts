import Type, { type TSchema } from 'typebox';
import type { OperationDescription } from '../../platform/http/operation-description.ts';
import { prompts } from './authorization-request.ts';

const text = (description: string) => ({ description, schema: Type.String() });
const needed = (description: string, schema: TSchema = Type.String()) => ({ description, schema, required: true });

export const authorize: OperationDescription = {
  tag: 'OIDC',
  summary: 'Start a sign-in (authorization code with PKCE)',
  description:
    'Until `client_id` and `redirect_uri` are known to be good a refusal is a page; from then on a redirect.',
  parameters: {
    response_type: needed('`code`', Type.Enum(['code'])),
    client_id: needed('As it was given at registration.'),
    redirect_uri: needed('A registered one, character for character.'),
    scope: text('Separated by spaces. Left out: `openid email profile`.'),
    state: text('Comes back unchanged; up to 4096 bytes.'),
    nonce: text('Comes back in the id token.'),
    code_challenge: needed('base64url of the SHA-256 of the code verifier.'),
    code_challenge_method: needed('`S256`', Type.Enum(['S256'])),
    prompt: text(`${prompts.join(', ')}; separated by spaces.`),
    max_age: text('Seconds since the last sign-in.'),
    login_hint: text('An e-mail address.'),
    id_token_hint: text('An id token of ours: who is meant.'),
    ui_locales: text('Languages of the pages, by preference.'),
    acr_values: text(
      'Authentication context classes, by preference. A wish: with `urn:signet:acr:2fa` first, a user who has a passkey and has not shown it is asked for it and may decline; `acr` in the token says what was reached.',
    ),
  },
  answers: { 302: { description: 'To the client with `code`, `state` and `iss`, or with `error`; or to `/signin`.' } },
  refusals: ['invalid_request', 'unauthorized_client'],
};
