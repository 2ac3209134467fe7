/**
 * Characters. The drafts advise a short one: it is a key in a dozen indexes, stands in paths (each slash as three characters) and in
 * the log, and people are to read it.
 */
const longest = 512;

/**
 * Whether a client_id is the URL of a metadata document (draft-ietf-oauth-client-id-metadata-document §3): https with a path, without
 * query, fragment, user name and dot segments. One spelling alone counts, so that no two ids are one document: as the URL
 * parser writes it, in characters that need no escape wherever it is written down.
 */
export const isMetadataUrl = (text: string): boolean =>
  text.length <= longest &&
  /^https:\/\/[a-z0-9.-]+(?::[1-9]\d{0,4})?\/[\w\-.~/:@]*$/.test(text) &&
  URL.parse(text)?.href === text;

/** With its port, if it has one. @param client_id one for which {@link isMetadataUrl} holds. */
export const hostOfMetadata = (client_id: string): string => new URL(client_id).host;
