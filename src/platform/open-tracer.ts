import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { type Clock, now } from './clock.ts';
import { version } from './config.ts';
import { currentRequest } from './http/current-request.ts';
import { newId } from './ids.ts';
import type { RequestSpan, SpanAttributes, Tracer, TraceSettings } from './tracing.ts';

/** For a collector that does not answer. */
const closingMs = 2_000;
const loggedEverySeconds = 60;
/** What OpenTelemetry's specification has for OTEL_BSP_MAX_QUEUE_SIZE. */
const queueSize = 2048;

/**
 * Spans by OpenTelemetry's SDK, sent as OTLP over HTTP in protobuf. Its packages read where to, with which headers and in whose name
 * from the environment. Nothing waits for a collector: spans that
 * it does not take are dropped, with a line in the log once a minute.
 */
export function openTracer(settings: TraceSettings, { log, clock }: { log: Logger; clock: Clock }): Tracer {
  const own = { 'service.name': 'signet', 'service.version': version, 'service.instance.id': newId('node') };
  const losses = spanLosses(settings.batch.maxQueueSize ?? queueSize, { log, clock });
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(settings, log),
    spanProcessors: [
      losses.beforeQueue, // asked first
      new BatchSpanProcessor({
        exporter: losses.afterQueue(new OTLPTraceExporter()),
        ...settings.batch,
        maxQueueSize: settings.batch.maxQueueSize ?? queueSize,
      }),
    ],
  });
  const tracer = provider.getTracer('signet', version);
  /** The span that work within a request, and what is sent, belongs to. */
  const within = new AsyncLocalStorage<Context>();
  const ofRequests = new WeakMap<RequestSpan, Context>();
  let closing: Promise<void> | undefined;

  function current(): Context | undefined {
    const span = currentRequest.getStore()?.span;
    return within.getStore() ?? (span && ofRequests.get(span));
  }

  async function run<Result>(span: Span, parent: Context, work: () => Promise<Result>): Promise<Result> {
    try {
      return await within.run(trace.setSpan(parent, span), work);
    } catch (error) {
      fail(span, kindOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  return {
    isOn: true,

    startRequest(attributes, traceparent, isTrusted) {
      const sent = traceparent === undefined ? undefined : readTraceparent(traceparent);
      const parent = sent && isTrusted ? trace.setSpanContext(ROOT_CONTEXT, sent) : ROOT_CONTEXT;
      const links = sent && !isTrusted ? [{ context: sent }] : [];
      const span = tracer.startSpan('request', { kind: SpanKind.SERVER, attributes, links }, parent);
      const context = span.spanContext();
      const request: RequestSpan = {
        trace_id: context.traceId,
        request_id: isSampled(context) ? requestIdFor(context) : undefined,
        end(name, outcome, error) {
          span.updateName(name).setAttributes(outcome);
          if (error !== undefined) fail(span, error);
          span.end();
        },
      };
      ofRequests.set(request, trace.setSpan(parent, span));
      return request;
    },

    async span(name, attributes, work, isRemote = false) {
      const parent = current();
      if (parent === undefined) return work(() => {});
      const kind = isRemote ? SpanKind.CLIENT : SpanKind.INTERNAL;
      const span = tracer.startSpan(name, { kind, attributes }, parent);
      return run(span, parent, () => work(noteOn(span)));
    },

    phases() {
      const parent = current();
      if (parent === undefined) return undefined;
      let running: Span | undefined;
      return (next) => {
        running?.end();
        running = next === undefined ? undefined : tracer.startSpan(next, {}, parent);
      };
    },

    async send(name, attributes, request_id, work) {
      const left = request_id ? spanContextIn(request_id) : undefined;
      const parent = left ? trace.setSpanContext(ROOT_CONTEXT, left) : ROOT_CONTEXT;
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
      const traceparent = traceparentOf(span.spanContext());
      return run(span, parent, () => work({ traceparent, note: noteOn(span) }));
    },

    close() {
      closing ??= Promise.race([
        provider.shutdown().catch(() => undefined), // it has been logged
        sleep(closingMs, undefined, { ref: false }),
      ]).finally(losses.close);
      return closing;
    },
  };
}

const noteOn = (span: Span) => (noted: SpanAttributes, error?: string) => {
  span.setAttributes(noted);
  if (error !== undefined) fail(span, error);
};

function fail(span: Span, error: string): void {
  span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR });
}

/** Never its message, which may quote anything. */
function kindOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: string };
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : (name ?? 'unknown');
}

const isSampled = ({ traceFlags }: SpanContext): boolean => (traceFlags & TraceFlags.SAMPLED) !== 0;

/** Its trace and its span in 32 characters: a webhook or a mail that the request has caused keeps only this. */
const requestIdFor = ({ traceId, spanId }: SpanContext) =>
  `req_${Buffer.from(traceId + spanId, 'hex').toString('base64url')}`;

/** @returns undefined for the id of a request without a trace, which is shorter. */
function spanContextIn(request_id: string): SpanContext | undefined {
  const [, text] = /^req_([\w-]{32})$/.exec(request_id) ?? [];
  if (text === undefined) return undefined;
  const ids = Buffer.from(text, 'base64url').toString('hex');
  const context = { traceId: ids.slice(0, 32), spanId: ids.slice(32), traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return trace.isSpanContextValid(context) ? context : undefined;
}

/** W3C Trace Context §3.2. A later version may have more parts behind the four. */
function readTraceparent(header: string): SpanContext | undefined {
  const [, version, traceId, spanId, flags, rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header) ?? [];
  if (!traceId || !spanId || !flags || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
  return trace.isSpanContextValid(context) ? context : undefined;
}

const traceparentOf = (context: SpanContext) =>
  `00-${context.traceId}-${context.spanId}-${isSampled(context) ? '01' : '00'}`;

/** As the specification of OpenTelemetry has it, a value that means nothing is named in the log and ignored. */
function samplerOf({ sampler: name, samplerArgument: argument }: TraceSettings, log: Logger): Sampler {
  const ratio = () => {
    const number = argument ? Number(argument) : 1;
    if (number >= 0 && number <= 1) return new TraceIdRatioBasedSampler(number);
    log.warn('OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1: all traces are sampled');
    return new TraceIdRatioBasedSampler(1);
  };
  const samplers: Readonly<Record<string, () => Sampler>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: ratio,
    parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
    parentbased_traceidratio: () => new ParentBasedSampler({ root: ratio() }),
  };
  const byDefault = samplers.parentbased_always_on!;
  if (!name) return byDefault();
  if (!Object.hasOwn(samplers, name)) log.warn('OTEL_TRACES_SAMPLER names no known sampler: all traces are sampled');
  return Object.hasOwn(samplers, name) ? samplers[name]!() : byDefault();
}

/**
 * Counts the spans that are lost, and logs them once a minute and at the end: the SDK itself says nothing of those that were not
 * taken, and of those for which its queue has no room.
 */
function spanLosses(maxQueued: number, { log, clock }: { log: Logger; clock: Clock }) {
  let lost = 0;
  let loggedAt: number | undefined;
  let lastError: string | number | undefined;
  /** In the queue of the SDK, which has `maxQueued` places; and taken from it, but not confirmed. */
  let queued = 0;
  let leaving = 0;

  function say(): void {
    loggedAt = now({ clock });
    log.warn({ spans: lost, error: lastError }, 'spans could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT and are lost');
    lost = 0;
  }
  function lose(count: number, error: string | number | undefined): void {
    lost += count;
    lastError = error;
    if (loggedAt === undefined || now({ clock }) - loggedAt >= loggedEverySeconds) say();
  }
  const beforeQueue: SpanProcessor = {
    onStart() {},
    onEnd(span) {
      if (!isSampled(span.spanContext())) return;
      if (queued >= maxQueued) lose(1, 'queue_full');
      else queued += 1;
    },
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const afterQueue = (exporter: SpanExporter): SpanExporter => ({
    export(spans, done) {
      queued -= spans.length;
      leaving += spans.length;
      exporter.export(spans, (result) => {
        done(result);
        leaving -= spans.length;
        if (result.code === 0) return;
        const { name, code } = (result.error ?? {}) as { name?: string; code?: string | number };
        lose(spans.length, code ?? name);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  });
  return {
    beforeQueue,
    afterQueue,
    /** Nothing more will be sent. */
    close() {
      lost += queued + leaving;
      if (queued + leaving > 0) lastError = 'closed';
      if (lost > 0) say();
    },
  };
}
