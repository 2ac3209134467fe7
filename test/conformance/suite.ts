import { setTimeout as sleep } from 'node:timers/promises';

// A running conformance suite of the OpenID Foundation, by its HTTP API.

export type Json = Record<string, unknown>;
export type Variant = Readonly<Record<string, string>>;
type ListedModule = { testModule: string; variant?: Variant | null };
type Plan = { id: string; modules: ListedModule[] };

/** PASSED, WARNING, REVIEW, SKIPPED or FAILED; INTERRUPTED if the suite gave up. */
export type Verdict = { result: string; complaints: string[] };

const pauseMs = 500;
/** The longest wait of a module is that of a code that has to expire. */
const patienceMs = 6 * 60_000;

export class Suite {
  readonly url: string;

  constructor(url: string) {
    this.url = url.replace(/\/*$/, '/');
  }

  async #send(method: string, path: string, query: Readonly<Record<string, string>> = {}, body?: unknown) {
    const url = `${this.url}api/${path}?${new URLSearchParams(query)}`;
    const init = { method, headers: { 'content-type': 'application/json' } };
    const answer = await fetch(url, body === undefined ? init : { ...init, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text.slice(0, 1000)}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async version(): Promise<string> {
    const { version, revision } = (await this.#send('GET', 'server')) as Record<string, string>;
    return `${version} (${revision})`;
  }

  createPlan(planName: string, variant: Variant, config: Json): Promise<Plan> {
    return this.#send('POST', 'plan', { planName, variant: JSON.stringify(variant) }, config);
  }

  /** @param meanwhile whatever a person does at Signet while the module waits; asked again and again, with what was logged. */
  async run(
    plan: Plan,
    { testModule, variant }: ListedModule,
    meanwhile: (log: readonly Json[]) => Promise<unknown>,
  ): Promise<Verdict> {
    const about = { test: testModule, plan: plan.id, ...(variant && { variant: JSON.stringify(variant) }) };
    const { id } = (await this.#send('POST', 'runner', about)) as { id: string };
    const until = Date.now() + patienceMs;
    let isStarted = false;
    for (;;) {
      const { status, result } = (await this.#send('GET', `info/${id}`)) as { status: string; result?: string };
      if (status === 'FINISHED' || status === 'INTERRUPTED' || Date.now() > until) {
        const complaints = complaintsIn(await this.#log(id));
        if (status === 'FINISHED') return { result: result ?? 'UNKNOWN', complaints };
        return { result: 'INTERRUPTED', complaints: [`ended as ${status}`, ...complaints] };
      }
      if (status === 'CONFIGURED' && !isStarted) {
        isStarted = true;
        await this.#send('POST', `runner/${id}`);
      }
      await meanwhile(await this.#log(id));
      await sleep(pauseMs);
    }
  }

  #log(id: string): Promise<Json[]> {
    return this.#send('GET', `log/${id}`);
  }
}

const complaintsIn = (log: readonly Json[]): string[] =>
  log
    .filter(({ result }) => result === 'FAILURE' || result === 'WARNING')
    .map(({ result, src, msg }) => `${result} ${src}: ${msg}`);
