import { readForm } from '../../platform/http/parameters.ts';
import type { ClientRequest } from './method.ts';

/** A request as it arrives, as far as it authenticates a client. */
type Arrived = {
  readonly headers: { readonly authorization?: string | undefined; readonly 'user-agent'?: string | undefined };
  readonly body: unknown;
  readonly ip: string;
};

/** @param defined parameters of the endpoint, which come once each. */
export const presentedBy = ({ headers, body, ip }: Arrived, defined: readonly string[]): ClientRequest => ({
  authorization: headers.authorization,
  form: readForm(body, defined),
  address: ip,
  userAgent: headers['user-agent'],
});
