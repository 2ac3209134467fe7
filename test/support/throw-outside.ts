import http, { type RequestListener } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Loaded into a server by a test (`node --import`): a request for `/throw/…` meets an exception that no promise of its
 * own catches, as a mistake in a callback would, and SIGUSR2 is one that belongs to no request.
 */
const fail = () => {
  throw new Error('thrown by the test');
};
const ways: Readonly<Record<string, (response: http.ServerResponse) => void>> = {
  '/throw/at-once': fail,
  '/throw/timer': (response) => unanswered(response, (later) => setTimeout(later, 1)),
  '/throw/rejection': (response) =>
    unanswered(response, (later) => void new Promise((resolve) => setImmediate(resolve)).then(later)),
};

/** The callback that fails is the one that would have answered. */
function unanswered(response: http.ServerResponse, start: (later: () => void) => void): void {
  const { writeHead, end } = response;
  Object.assign(response, { writeHead: () => response, end: () => response });
  start(() => {
    Object.assign(response, { writeHead, end });
    fail();
  });
}

const { createServer } = http;
http.createServer = ((options: http.ServerOptions, listener: RequestListener) =>
  createServer(options, (request, response) => {
    const { url = '' } = request;
    const way = ways[url];
    // First it is looked for among the published documents, and then the router reads it, in the course of the request.
    let isKnown = false;
    const read = () => {
      if (!isKnown) {
        isKnown = true;
        return url;
      }
      Object.defineProperty(request, 'url', { value: url });
      way?.(response);
      return url;
    };
    if (way) Object.defineProperty(request, 'url', { get: read, configurable: true });
    listener(request, response);
  })) as typeof createServer;
syncBuiltinESMExports();
process.on('SIGUSR2', () => setImmediate(fail));
