import type { Client } from '../../clients/client.ts';
import type { FailureCode } from '../../clients/failures.ts';
import type { AccessDescription } from '../../platform/http/access.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { TSchema } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';

export type ClientRequest = {
  authorization: string | undefined;
  form: Parameters;
  /** Where the request came from; failures are counted by it. */
  address: string;
};

export type ProofDeps = Pick<Deps, 'clock' | 'clientSecretLimits' | 'clientSecretUses'>;

/** One way to authenticate, for every endpoint that takes it. */
export type Method = {
  /** What a request shows by it; undefined if it does not use it. @throws {RequestError} for what is malformed. */
  presents(request: ClientRequest): { client_id: string | undefined; proof: string | undefined } | undefined;
  /** @returns why the client is not proven, for its owner alone to read; undefined if it is. */
  prove(
    deps: ProofDeps,
    client: Client,
    shown: { proof: string | undefined; address: string },
  ): FailureCode | undefined | Promise<FailureCode | undefined>;
  /** Its parameters of a form, beside `client_id`. */
  readonly parameters: Readonly<Record<string, TSchema>>;
  /** In the API description. */
  readonly access: AccessDescription;
  readonly words: string;
};
