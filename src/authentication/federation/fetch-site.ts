/**
 * Where a navigation comes from (Fetch Metadata §2.1), which no page can make up. A request without the header does not
 * come from a browser of today: nobody was lured.
 * @param site the header `Sec-Fetch-Site`.
 */
export const isSameOriginRequest = (site: unknown): boolean => site === undefined || site === 'same-origin';

/** Another site, a neighbour under the same domain included. A bookmark or a typed address is nobody else's doing. */
export const isCrossSiteRequest = (site: unknown): boolean => !isSameOriginRequest(site) && site !== 'none';
