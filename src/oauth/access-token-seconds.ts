/** How long an access token is good (specification 2.3). */
export const accessTokenSeconds = 3600;
