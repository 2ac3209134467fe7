import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import pino from 'pino';
import { readTraceSettings } from '../../src/app/trace-settings.ts';
import { openTracer } from '../../src/platform/open-tracer.ts';
import type { Tracer } from '../../src/platform/tracing.ts';

type Values = Record<string, string | number>;

/** As `opentelemetry/proto/trace/v1/trace.proto` has it. `kind`: 1 internal, 2 server, 3 client. `error`: of its status. */
export type CollectedSpan = {
  trace_id: string;
  span_id: string;
  parent_id: string;
  name: string;
  kind: number;
  attributes: Values;
  links: { trace_id: string; span_id: string }[];
  error: boolean;
};

export type Collector = {
  url: string;
  /** Answers with it; 200 takes the spans. While it `holds`, it answers nothing. */
  status: number;
  holds?: boolean;
  spans: CollectedSpan[];
  /** Of those who have sent them. */
  resources: Values[];
  /** Everything that was sent. */
  requests: { path: string; headers: IncomingHttpHeaders; body: Buffer }[];
};

/** Receives OTLP over HTTP, in protobuf. */
export async function openCollector(t: TestContext): Promise<Collector> {
  const collector: Collector = { url: '', status: 200, spans: [], resources: [], requests: [] };
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    collector.requests.push({ path: request.url ?? '', headers: request.headers, body });
    if (collector.holds) return;
    if (collector.status === 200) keep(collector, body);
    response.writeHead(collector.status, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return collector;
}

/** The server's own tracer, in this process. What it sends is there after its `close`. @param lines what it logs. */
export function tracerTo(
  { url }: Pick<Collector, 'url'>,
  variables: Record<string, string> = {},
  lines: Record<string, unknown>[] = [],
): Tracer {
  const set = { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...variables };
  Object.assign(process.env, set); // the packages of OpenTelemetry read it themselves
  try {
    return openTracer(readTraceSettings(set)!, {
      log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
      clock: () => 0,
    });
  } finally {
    for (const name of Object.keys(set)) delete process.env[name];
  }
}

function keep(collector: Collector, body: Buffer): void {
  for (const sent of messages(body, 1)) {
    collector.resources.push(...messages(sent, 1).map((resource) => attributesOf(resource, 1)));
    for (const scope of messages(sent, 2)) collector.spans.push(...messages(scope, 2).map(readSpan));
  }
}

const readSpan = (span: Buffer): CollectedSpan => ({
  trace_id: hex(span, 1),
  span_id: hex(span, 2),
  parent_id: hex(span, 4),
  name: messages(span, 5)[0]?.toString() ?? '',
  kind: numbers(span, 6)[0] ?? 0,
  attributes: attributesOf(span, 9),
  links: messages(span, 13).map((link) => ({ trace_id: hex(link, 1), span_id: hex(link, 2) })),
  error: messages(span, 15).some((status) => numbers(status, 3)[0] === 2),
});

const attributesOf = (message: Buffer, field: number): Values =>
  Object.fromEntries(
    messages(message, field).map((pair) => {
      const value = messages(pair, 2)[0] ?? Buffer.alloc(0);
      return [messages(pair, 1)[0]?.toString() ?? '', messages(value, 1)[0]?.toString() ?? numbers(value, 3)[0] ?? ''];
    }),
  );

const messages = (message: Buffer, field: number): Buffer[] =>
  fieldsOf(message).flatMap(([number, value]) => (number === field && Buffer.isBuffer(value) ? [value] : []));
const numbers = (message: Buffer, field: number): number[] =>
  fieldsOf(message).flatMap(([number, value]) => (number === field && typeof value === 'number' ? [value] : []));
const hex = (message: Buffer, field: number): string => messages(message, field)[0]?.toString('hex') ?? '';

/** The wire format of Protocol Buffers: each field with its number. */
function fieldsOf(message: Buffer): (readonly [number, Buffer | number])[] {
  const fields: (readonly [number, Buffer | number])[] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at]!;
      at += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  const bytes = (length: number) => {
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = varint();
    const wire = tag & 7;
    if (wire === 0) fields.push([tag >> 3, varint()]);
    else fields.push([tag >> 3, bytes(wire === 2 ? varint() : wire === 1 ? 8 : 4)]);
  }
  return fields;
}
