import Type from 'typebox';
import type { OperationDescription } from '../../platform/http/operation-description.ts';
import { recentlySignedIn } from '../sessions/session.ts';

export const listProviders: OperationDescription = {
  tag: 'Federated',
  summary: 'Providers to sign in with',
  answers: {
    200: {
      description: 'The configured providers; an empty list if there are none.',
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
    'For browsers, from any page. The provider redirects back to Signet, which redirects to `next`. If another site started the sign-in, the user must confirm it before it takes effect.',
  parameters: {
    provider: { description: '`id` of a configured provider.' },
    next: { description: 'A path on this service; any other value leads to `/account`.' },
  },
  answers: {
    302: { description: "Redirect to the provider's authorization endpoint." },
  },
  refusals: ['access_denied', 'not_found', 'rate_limited', 'upstream_failed'],
};

export const unlink: OperationDescription = {
  tag: 'Account',
  summary: 'Disconnect a provider',
  description: 'The last sign-in method cannot be removed.',
  access: [recentlySignedIn],
  parameters: { provider: { description: '`id` of one of the `identities` of the current user.' } },
  answers: { 204: { description: 'Disconnected. The user is notified by email.' } },
  refusals: ['not_found', 'invalid_state'],
};
