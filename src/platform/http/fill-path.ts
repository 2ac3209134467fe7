/** The pattern of a route with its parameters, as a path. */
export const fillPath = (pattern: string, parameters: Readonly<Record<string, string | undefined>>): string =>
  pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''));
