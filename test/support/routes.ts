import type { FastifyInstance } from 'fastify';

export type Route = {
  /** As it was added, such as `/v1/me/sessions/:session_id`. */
  path: string;
  /** Those that it takes; every other method is answered with 405. */
  methods: string[];
};

/** Every address of the service, from the service itself: who adds one finds it tried. */
export async function routesOf(app: FastifyInstance, url: string): Promise<Route[]> {
  const parents: string[] = [];
  const paths: string[] = [];
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const [, indent, part, isRoute] = /^((?:│ {3}| {4})*)[├└]── (\S+)( \()?/.exec(line) ?? [];
    if (indent === undefined || part === undefined) continue;
    const depth = indent.length / 4;
    const path = (parents[depth - 1] ?? '') + part;
    parents.splice(depth, Number.POSITIVE_INFINITY, path);
    if (isRoute) paths.push(path);
  }
  return Promise.all(
    paths.map(async (path) => {
      const answer = await fetch(url + path.replaceAll(':', ''), { method: 'OPTIONS' });
      return { path, methods: answer.headers.get('allow')?.split(', ') ?? [] };
    }),
  );
}
