// What can be said of URLs in a regular expression that every dialect reads, for the API description. The functions that
// decide are where the URLs are stored; they know more, such as which hosts a browser takes for another one.

const label = '[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?';
const octet = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
/** A top-level domain begins with a letter: a host that ends with a number is an IPv4 address (URL Standard §3.5). */
const host = `((${label}\\.)*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?|(${octet}\\.){3}${octet}|\\[[0-9a-f:]+\\])`;
const port = '(:([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?';

/** Without `%`, whose escapes differ. */
const character = "[A-Za-z0-9._~:@!$&'()+,;=\\[\\]-]";
/** No control character, and nothing that a proxy which decodes once more would take for another segment. */
const pathEscape = '%(2[0-46-9A-Ea-e]|[346][0-9A-Fa-f]|5[0-9ABDEFabdef]|7[0-9A-Ea-e]|[89A-Fa-f][0-9A-Fa-f])';
const queryEscape = '%([2-689A-Fa-f][0-9A-Fa-f]|7[0-9A-Ea-e])';
const query = `(\\?(${character}|[/?]|${queryEscape})*)?`;
const path = `(/(${character}|/|${pathEscape})*)?`;

const loopback = '(localhost|127\\.0\\.0\\.1|\\[::1\\])';
const https = `https://${host}${port}${path}${query}`;
const privateUse = `[a-z][a-z0-9-]*(\\.[a-z0-9-]*[a-z0-9])+:/(${character}|${pathEscape})(${character}|/|${pathEscape})*${query}`;

const server = `${https}|http://${loopback}${port}${path}${query}`;

export const redirectUriPattern = `^(${server}|${privateUse})$`;
/** Of what a server receives: http on loopback only. */
export const serverUriPattern = `^(${server})$`;
const visible = '[!$%&()*+,./0-9:;=?@A-Z\\[\\]_a-z~-]*';
/** Of what is requested: no fragment. */
export const httpsTargetPattern = `^https://${host}${port}([/?]${visible})?$`;
/** Of a link, in any visible ASCII that cannot end an attribute. */
export const httpsUrlPattern = `^https://${host}${port}([/?]${visible})?(#${visible})?$`;
/** Of an address that is passed on. */
export const httpOrHttpsUrlPattern = httpsUrlPattern.replace('https', 'https?');
