import { ConfigError } from '../platform/errors.ts';
import type { TraceSettings } from '../platform/tracing.ts';

/**
 * The variables of OpenTelemetry that its packages do not read by themselves. What they do read is checked here as far as they would
 * ignore a mistake without a word.
 * @returns undefined without an address to send traces to.
 * @throws {ConfigError}
 */
export function readTraceSettings(
  environment: Readonly<Record<string, string | undefined>>,
): TraceSettings | undefined {
  const isOff =
    environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true' || environment.OTEL_TRACES_EXPORTER === 'none';
  const endpoints = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].filter(
    (name) => environment[name],
  );
  if (isOff || endpoints.length === 0) return undefined;
  for (const name of endpoints) {
    if (/^https?:$/.test(URL.parse(environment[name] ?? '')?.protocol ?? '')) continue;
    throw new ConfigError(
      `${name} must be a URL such as http://localhost:4318. Set OTEL_SDK_DISABLED=true to send no traces.`,
    );
  }
  const readNumber = (name: string) =>
    /^[1-9]\d{0,8}$/.test(environment[name] ?? '') ? Number(environment[name]) : undefined;
  return Object.freeze({
    sampler: environment.OTEL_TRACES_SAMPLER || undefined,
    samplerArgument: environment.OTEL_TRACES_SAMPLER_ARG || undefined,
    batch: Object.freeze({
      scheduledDelayMillis: readNumber('OTEL_BSP_SCHEDULE_DELAY'),
      exportTimeoutMillis: readNumber('OTEL_BSP_EXPORT_TIMEOUT'),
      maxQueueSize: readNumber('OTEL_BSP_MAX_QUEUE_SIZE'),
      maxExportBatchSize: readNumber('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
    }),
  });
}
