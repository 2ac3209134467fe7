import type { Client } from '../client.ts';

/** Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document). */
export type MetadataDocuments = {
  /**
   * The client that the document at an unknown client_id describes, which is registered by it and waits for its review.
   * @param address of the requester.
   * @returns undefined if documents are not read here, or it is no URL of one.
   * @throws {RequestError} `invalid_request` for what cannot be used; `rate_limited`.
   */
  discover(client_id: string, address: string): Promise<Client | undefined>;
  /** Reads the document of a known client again if it is no longer fresh. The request does not wait for it, and goes on with what is known. */
  keepFresh(client: Client): void;
  /** The next look at a host asks the store. */
  forgetHost(host: string): void;
  /** Resolves when nothing is being read any more. */
  close(): Promise<void>;
};
