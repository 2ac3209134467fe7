import type { Deps } from '../oauth/deps.ts';
import { methodUrns, signalsPath, streamsPath } from './stream.ts';

/** SSF 1.0 §7.1. */
export const transmitterMetadata = ({ config: { baseUrl } }: Pick<Deps, 'config'>) => ({
  spec_version: '1_0',
  issuer: baseUrl,
  jwks_uri: `${baseUrl}/.well-known/jwks.json`,
  delivery_methods_supported: [methodUrns.push, methodUrns.poll],
  configuration_endpoint: `${baseUrl}${streamsPath}`,
  status_endpoint: `${baseUrl}${signalsPath}/status`,
  verification_endpoint: `${baseUrl}${signalsPath}/verification`,
  add_subject_endpoint: `${baseUrl}${signalsPath}/subjects/add`,
  remove_subject_endpoint: `${baseUrl}${signalsPath}/subjects/remove`,
  // A token, ID and secret, and what a client has signed.
  authorization_schemes: ['urn:ietf:rfc:6749', 'urn:ietf:rfc:7617', 'urn:ietf:rfc:7523'].map((spec_urn) => ({
    spec_urn,
  })),
  default_subjects: 'ALL',
});
