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

/**
 * Spans by OpenTelemetry's SDK, sent as OTLP over HTTP in protobuf. Its packages read where to, with which headers and in whose name
 * from the environment. Nothing waits for a collector: spans that
 * it does not take are dropped, with a line in the log once a minute.
 */
export function openTracer(settings: TraceSettings, { log, clock }: { log: Logger; clock: Clock }): Tracer {
  const own = { 'service.name': 'signet', 'service.version': version, 'service.instance.id': newId('node') };
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(settings, log),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: loggingFailures(new OTLPTraceExporter(), { log, clock }),
        ...settings.batch,
      }),
    ],
  });
  const tracer = provider.getTracer('signet', version);
  /** Of work within a request, and of what is sent. */
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
      if (parent === undefined) return work();
      const kind = isRemote ? SpanKind.CLIENT : SpanKind.INTERNAL;
      return run(tracer.startSpan(name, { kind, attributes }, parent), parent, work);
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
      const note = (noted: SpanAttributes, error?: string) => {
        span.setAttributes(noted);
        if (error !== undefined) fail(span, error);
      };
      return run(span, parent, () => work({ traceparent: traceparentOf(span.spanContext()), note }));
    },

    close() {
      closing ??= Promise.race([
        provider.shutdown().catch(() => undefined), // it has been logged
        sleep(closingMs, undefined, { ref: false }),
      ]);
      return closing;
    },
  };
}

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

/** The SDK itself says nothing of spans that were not taken. */
function loggingFailures(exporter: SpanExporter, { log, clock }: { log: Logger; clock: Clock }): SpanExporter {
  let lost = 0;
  let loggedAt: number | undefined;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        done(result);
        if (result.code === 0) return;
        lost += spans.length;
        if (loggedAt !== undefined && now({ clock }) - loggedAt < loggedEverySeconds) return;
        loggedAt = now({ clock });
        const { name, code } = (result.error ?? {}) as { name?: string; code?: string | number };
        log.warn(
          { spans: lost, error: code ?? name },
          'spans could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT and are lost',
        );
        lost = 0;
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}
