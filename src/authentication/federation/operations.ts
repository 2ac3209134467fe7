import Type from 'typebox';
import type { OperationDescription } from '../../platform/http/operation-description.ts';
import { recentlySignedIn } from '../sessions/session.ts';

export const listProviders: OperationDescription = {
  tag: 'Federated',
  summary: 'Providers to sign in with',
  answers: {
    200: {
      description: 'Those that are configured; none: an empty list.',
      schema: Type.Object({
        providers: Type.Array(
          Type.Object({ id: Type.String(), label: Type.String(), loginUrl: Type.String({ format: 'uri' }) }),
        ),
      }),
    },
  },
};

export const startFederatedSignIn: OperationDescription = {
  tag: 'Federated',
  summary: 'Sign in with a provider',
  description:
    'For a browser, from any page. It comes back to Signet, and from there goes on to `next`. Where another site has sent it, the user is asked after the provider has answered, before the sign-in counts.',
  parameters: {
    provider: { description: 'The `id` of a configured provider.' },
    next: { description: 'A path of this service; anything else leads to `/account`.' },
  },
  answers: {
    302: { description: "To the provider's authorization endpoint." },
  },
  refusals: ['access_denied', 'not_found', 'rate_limited', 'upstream_failed'],
};

export const unlink: OperationDescription = {
  tag: 'Account',
  summary: 'Disconnect a provider',
  description: 'The last way to sign in cannot be removed.',
  access: [recentlySignedIn],
  parameters: { provider: { description: 'As in `identities` of the current user.' } },
  answers: { 204: { description: 'It no longer opens the account. Its owner gets a mail.' } },
  refusals: ['not_found', 'invalid_state'],
};
