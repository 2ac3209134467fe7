/** What a span says. Never an id or an address of a user, a query string, a value of a statement, or a secret. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** Who is asked. Not the path and query, which may be a secret of the server's owner, or name a user. */
export function serverOf(url: string): SpanAttributes {
  const { protocol, hostname, port } = new URL(url);
  return {
    'url.scheme': protocol.slice(0, -1),
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  };
}

/** What the packages of OpenTelemetry do not read from the environment by themselves. */
export type TraceSettings = {
  /** A name of the specification of OpenTelemetry, or anything. */
  readonly sampler: string | undefined;
  readonly samplerArgument: string | undefined;
  /** Where it is absent, the SDK's own. */
  readonly batch: {
    readonly scheduledDelayMillis: number | undefined;
    readonly exportTimeoutMillis: number | undefined;
    readonly maxQueueSize: number | undefined;
    readonly maxExportBatchSize: number | undefined;
  };
};

/** The span of a request, from its headers to its answer. */
export type RequestSpan = {
  /** 32 hexadecimal digits. */
  readonly trace_id: string;
  /** For the request: {@link Tracer.send} finds this span by it. Undefined if the trace is not sampled. */
  readonly request_id: string | undefined;
  /** @param error why it failed, if that is our failure. */
  end(name: string, attributes: SpanAttributes, error?: string): void;
};

/** The span of something that is sent. */
export type SendingSpan = {
  /** The header by which the receiver continues the trace (W3C Trace Context); undefined without a trace. */
  readonly traceparent: string | undefined;
  /** @param error why it was not taken. */
  note(attributes: SpanAttributes, error?: string): void;
};

/**
 * Traces for OpenTelemetry: what was done in the course of a request, and for how long. {@link noTracing} unless the operator
 * configures where to send them, and then `openTracer`.
 */
export type Tracer = {
  readonly isOn: boolean;
  /**
   * @param traceparent the header that came with it.
   * @param isTrusted the header is from one of our own proxies: its trace is continued, where any other's is only linked.
   */
  startRequest(attributes: SpanAttributes, traceparent: string | undefined, isTrusted: boolean): RequestSpan;
  /**
   * Work in the course of the current request. Outside of one it has no span.
   * @param work is given a function that adds to the span.
   * @param isRemote another system does it.
   */
  span<Result>(
    name: string,
    attributes: SpanAttributes,
    work: (note: SendingSpan['note']) => Promise<Result>,
    isRemote?: boolean,
  ): Promise<Result>;
  /**
   * Work of the current request that changes hands on its way.
   * @returns a function that ends the phase before and begins the next, if it is given a name; undefined outside of a request.
   */
  phases(): ((next?: string) => void) | undefined;
  /** Sends what a request has left behind, with its trace; without one, in a trace of its own. */
  send<Result>(
    name: string,
    attributes: SpanAttributes,
    request_id: string | null | undefined,
    work: (span: SendingSpan) => Promise<Result>,
  ): Promise<Result>;
  /** Sends the spans that have ended, as far as they are taken within two seconds. */
  close(): Promise<void>;
};

const noSpan = { trace_id: '', request_id: undefined, traceparent: undefined, end: () => {}, note: () => {} };

export const noTracing: Tracer = {
  isOn: false,
  startRequest: () => noSpan,
  span: (_name, _attributes, work) => work(noSpan.note),
  phases: () => undefined,
  send: (_name, _attributes, _request_id, work) => work(noSpan),
  close: async () => {},
};
