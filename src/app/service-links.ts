/**
 * Variables that a pod gets for a Service whose name begins with `signet`, unless its `enableServiceLinks` is false
 * (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables). The value tells it from a setting.
 */
const serviceLinkParts: readonly [name: RegExp, value: RegExp][] = [
  [/_SERVICE_HOST$|_PORT_\d+_(TCP|UDP|SCTP)_ADDR$/, /^[\d.]+$|^[\da-f:.]*:[\da-f:.]+$/i],
  [/_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)_PORT$/, /^\d{1,5}$/],
  [/_PORT(_\d+_(TCP|UDP|SCTP))?$/, /^(tcp|udp|sctp):\/\/./],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PROTO$/, /^(tcp|udp|sctp)$/],
];
const isServiceLink = (name: string, text = ''): boolean =>
  name.startsWith('SIGNET_') && serviceLinkParts.some(([ends, fits]) => ends.test(name) && fits.test(text));

type Environment = Readonly<Record<string, string | undefined>>;

/** @param file its line counts where such a variable hides it. */
export function withoutServiceLinks(given: Environment, file: Environment) {
  const serviceLinks = Object.keys(given).filter((name) => isServiceLink(name, given[name]));
  const settings = Object.entries(given)
    .map(([name, text]) => [name, serviceLinks.includes(name) ? file[name] : text] as const)
    .filter(([, text]) => text !== undefined);
  return { environment: Object.fromEntries(settings) as Environment, serviceLinks };
}
