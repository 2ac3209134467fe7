import type { Provider } from '../../authentication/credentials/providers.ts';
import { checkProvider } from '../../authentication/federation/check-provider.ts';
import { usedProviders } from '../../authentication/federation/list-providers.ts';
import type { Db } from '../../platform/db/db.ts';
import { fetchForOperator } from '../../platform/http/outbound/operator-fetch.ts';
import { openOutbound } from '../../platform/http/outbound/outbound.ts';
import { mailModeOf, verifySmtp } from '../../platform/mail/transport.ts';
import { visibleText } from '../../platform/text.ts';
import { noTracing } from '../../platform/tracing.ts';
import { askReadiness } from '../ask-readiness.ts';
import { type Check, type CheckDeps, ok, problem, skipped, warning, within } from './check.ts';

export async function checkServer({ config }: CheckDeps): Promise<Check> {
  const name = 'server';
  try {
    const { status, error_description, warnings = [] } = await askReadiness(config);
    if (status !== 'ready') {
      const found = visibleText(error_description ?? 'What answers on this port is not Signet.', 200);
      return problem(name, found, 'Read its log; if it has just started, try again.');
    }
    if (warnings.length > 0) {
      return warning(name, 'The server is ready, but its clock is in doubt.', 'Synchronize the clocks with NTP.');
    }
    return ok(name, 'The server on this machine is ready.');
  } catch {
    const found = `No server answers on port ${config.port} of this machine.`;
    return warning(name, found, 'If it should run here, start it (signet serve), and read its log.');
  }
}

const unsent = {
  log: 'SIGNET_SMTP_URL is not set, so mail is only printed to the log of the server: nobody receives it.',
  none: 'SIGNET_SMTP_URL is not set, so no mail is sent: no forgotten password can be reset.',
};

export async function checkMail({ config, timeoutMs }: CheckDeps): Promise<Check> {
  const name = 'mail';
  const mode = mailModeOf(config);
  if (mode !== 'smtp') return warning(name, unsent[mode], 'Set it to your mail server, and restart the server.');
  const late = `no answer within ${timeoutMs / 1000} s`;
  const answer = await within(timeoutMs, verifySmtp(config, timeoutMs), late);
  if (answer === undefined) return ok(name, 'The mail server accepts the connection; no mail was sent.');
  return problem(
    name,
    `The mail server cannot be used: ${answer}.`,
    'Check SIGNET_SMTP_URL. Then run: signet mail test <your address>',
  );
}

/** One for each provider that users can sign in with: of settings, and of the store if it can be read. */
export async function checkProviders(deps: CheckDeps, db: Db | undefined): Promise<Check[]> {
  const providers: readonly Provider[] = db
    ? await usedProviders(deps.config, db).catch(() => deps.config.providers)
    : deps.config.providers;
  if (providers.length === 0) return [skipped('providers', 'No provider is configured.')];
  const outbound = openOutbound(deps);
  return Promise.all(
    providers.map(async (provider) => {
      const { id, issuer } = provider;
      const asked = checkProvider({ ...deps, outbound, tracer: noTracing }, provider).then(({ problem }) => problem);
      const code = await within(deps.timeoutMs, asked, 'timeout');
      const name = `provider ${id}`;
      if (code === null) return ok(name, `Discovery and keys of ${issuer} can be read.`);
      const remedy = `Check the issuer of the provider ${id}, and that this machine reaches it.`;
      return problem(name, `Discovery or keys of ${issuer} cannot be used (${code}).`, remedy);
    }),
  );
}

type Outside = { check: Check /** Unix seconds, by the `Date` of the answer. */; at?: number };

const maxBytes = 64 * 1024;

/** The service as people reach it, through name server, TLS and proxy. */
export async function checkBaseUrl({ config: { baseUrl }, timeoutMs }: CheckDeps): Promise<Outside> {
  const name = 'base URL';
  try {
    const url = `${baseUrl}/.well-known/openid-configuration`;
    const answer = await fetchForOperator(url, { signal: AbortSignal.timeout(timeoutMs) }, maxBytes);
    const date = Date.parse(answer.headers.get('date') ?? '');
    const at = Number.isNaN(date) ? undefined : Math.floor(date / 1000);
    const issuer = issuerIn(answer.body.toString());
    if (issuer === baseUrl) return { check: ok(name, `${baseUrl} answers with this issuer.`), at };
    const found =
      issuer === undefined
        ? `${baseUrl} answers, but not as Signet (status ${answer.status}).`
        : `The issuer at ${baseUrl} is another one: ${visibleText(issuer)}.`;
    const remedy = 'Check SIGNET_BASE_URL, and where its name and the proxy lead.';
    return { check: problem(name, found, remedy), at };
  } catch (error) {
    const { name: kind, cause } = error as Error & { cause?: { code?: string } };
    const why = kind === 'TimeoutError' ? `no answer within ${timeoutMs / 1000} s` : (cause?.code ?? kind);
    if (/CERT|TLS|SSL|SIGNATURE/.test(why)) {
      const remedy = 'Renew the certificate, or have the proxy send the whole chain.';
      return { check: problem(name, `The certificate of ${baseUrl} is not accepted (${why}).`, remedy) };
    }
    const found = `${baseUrl} cannot be reached from this machine (${why}).`;
    return { check: warning(name, found, 'Try it from elsewhere; then check name server, firewall and proxy.') };
  }
}

function issuerIn(text: string): string | undefined {
  try {
    const { issuer } = JSON.parse(text) as { issuer?: unknown };
    return typeof issuer === 'string' ? issuer : undefined;
  } catch {
    return undefined;
  }
}
