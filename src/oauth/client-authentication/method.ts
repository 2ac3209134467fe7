import type { Client } from '../../clients/client.ts';
import type { Failure } from '../../clients/failures.ts';
import type { AccessDescription } from '../../platform/http/access.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { TSchema } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';

export type ClientRequest = {
  authorization: string | undefined;
  form: Parameters;
  /** Where the request came from; failures are counted by it. */
  address: string;
  /** What it says of its browser or library. */
  userAgent?: string | undefined;
};

export type ProofDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'keySets' | 'clientSecretLimits' | 'clientSecretUses'>;

/** Why a client is not proven, for its owner; `description`: what its caller gets to read. */
export type Refusal = Failure & { description?: string };

/** One way to authenticate, for every endpoint that takes it. */
export type Method = {
  /** What a request shows by it; undefined if it does not use it. @throws {RequestError} for what is malformed. */
  presents(request: ClientRequest): { client_id: string | undefined; proof: string | undefined } | undefined;
  /** @returns undefined if the client is proven. */
  prove(
    deps: ProofDeps,
    client: Client,
    shown: { proof: string | undefined; address: string },
  ): Refusal | undefined | Promise<Refusal | undefined>;
  /** Its parameters of a form, beside `client_id`. */
  readonly parameters: Readonly<Record<string, TSchema>>;
  /** In the API description; what it has no security scheme for is in `words` alone. */
  readonly access?: AccessDescription;
  readonly words: string;
};
