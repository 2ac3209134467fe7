/**
 * Node's `http`, which is not imported: an `import` reads every export of a built-in module, and one of these, `WebSocket`,
 * loads the whole of `fetch`. That would take 40 ms of each start, and memory for as long as the process runs.
 */
export const { createServer, get, METHODS, request, STATUS_CODES } = process.getBuiltinModule('node:http');
