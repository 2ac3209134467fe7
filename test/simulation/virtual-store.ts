import { DatabaseSync } from 'node:sqlite';
import { createDb, type Db } from '../../src/platform/db/db.ts';
import {
  type Committed,
  type Engine,
  isExpectedConflict,
  isRefused,
  OutcomeUnknown,
  type Step,
  StoreUnavailable,
} from '../../src/platform/db/engine.ts';
import type { MigratableDb, MigratableEngine } from '../../src/platform/db/migrate.ts';
import type { Statement } from '../../src/platform/db/sql.ts';
import { executor } from '../../src/platform/db/sqlite.ts';
import { storeError } from '../../src/platform/db/sqlite-errors.ts';
import type { Random } from '../support/seeded-random.ts';

/** What becomes of a call besides being answered. `late`: it is carried out after its caller was told that this is unknown. */
export type Fault = 'refused' | 'unknown, kept' | 'unknown, not kept' | 'unknown, late';

/** Who makes a call: an action, or a node by itself. */
export type Caller = { name: string; isFaulted?: boolean; mayFail: 'ever' | 'in an outage' | 'never' };

type Call = {
  caller: Caller;
  run_id: string;
  steps: readonly Statement[];
  isChange: boolean;
  carryOut: () => unknown;
  answer: (outcome: { value: unknown } | { error: unknown }) => void;
  /** Set once it was carried out. */
  outcome?: { value: unknown } | { error: unknown };
};

/**
 * SQLite in memory behind calls that wait until they are picked: to be carried out, and then once more to be answered, so that
 * anything may happen between the commit and its confirmation. Each call is atomic, as it is on both engines.
 */
export class VirtualStore {
  readonly #connection = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true });
  readonly #execute = executor(this.#connection);
  #calls: Call[] = [];
  #running = new Set<string>();
  #broken = 0;
  #note: (line: string) => void = () => undefined;

  /** For the time of a simulation that ends with {@link end}, which undoes all of its changes. */
  begin(note: (line: string) => void): void {
    this.#note = note;
    this.#connection.exec('begin');
  }

  end(): void {
    this.#connection.exec('rollback');
    this.#calls = [];
    this.#running.clear();
    this.#broken = 0;
  }

  get waiting(): number {
    return this.#calls.length;
  }

  start(run_id: string): void {
    this.#running.add(run_id);
  }

  /** Of what a killed process has sent, some arrives. */
  kill(run_id: string, random: Random): void {
    this.#running.delete(run_id);
    const orphaned = this.#calls.filter((call) => call.run_id === run_id);
    this.#calls = this.#calls.filter((call) => call.run_id !== run_id);
    for (const call of orphaned) {
      if (call.outcome || !call.isChange || !random.percent(50)) continue;
      this.#note(`${call.caller.name}: carried out, of a killed process: ${wordsOf(call)}`);
      this.#try(call);
    }
  }

  /** Most of the calls that come next fail. */
  breakDown(calls: number): void {
    this.#broken = calls;
  }

  /** Carries out or answers one of the waiting calls. @param faultsPercent how often one fails outside of an outage. */
  pick(random: Random, faultsPercent: number): void {
    const place = random.below(this.#calls.length);
    const call = this.#calls[place]!;
    const remove = () => this.#calls.splice(place, 1);
    if (call.outcome) {
      remove();
      call.answer(call.outcome);
      return;
    }
    const { mayFail } = call.caller;
    const percent = mayFail === 'never' ? 0 : this.#broken > 0 ? 90 : mayFail === 'ever' ? faultsPercent : 0;
    if (this.#broken > 0) this.#broken -= 1;
    const fault = random.percent(percent) ? this.#faultOf(call, random) : undefined;
    if (fault === undefined) {
      this.#note(`${call.caller.name}: ${wordsOf(call)}`);
      call.outcome = this.#try(call);
      if (!random.percent(40)) {
        remove();
        call.answer(call.outcome);
      }
      return;
    }
    this.#note(`${call.caller.name}: ${wordsOf(call)}  !! ${fault}`);
    call.caller.isFaulted = true;
    remove();
    if (fault === 'refused') {
      call.answer({ error: new StoreUnavailable('injected') });
      return;
    }
    if (fault === 'unknown, kept') this.#try(call);
    if (fault === 'unknown, late') this.#calls.push({ ...call, answer: () => undefined });
    call.answer({ error: new OutcomeUnknown('injected') });
  }

  #faultOf({ isChange }: Call, random: Random): Fault {
    if (!isChange) return 'refused';
    return random.pick<Fault>(['refused', 'unknown, kept', 'unknown, not kept', 'unknown, late']);
  }

  #try({ carryOut }: Call): { value: unknown } | { error: unknown } {
    try {
      return { value: carryOut() };
    } catch (error) {
      return { error: storeError(error) };
    }
  }

  #send<Value>(caller: Caller, run_id: string, call: Pick<Call, 'steps' | 'isChange'>, carryOut: () => Value) {
    return new Promise<Value>((resolve, reject) => {
      if (!this.#running.has(run_id)) return; // nothing that a killed process waits for ever comes
      const answer: Call['answer'] = (outcome) =>
        'error' in outcome ? reject(outcome.error) : resolve(outcome.value as Value);
      this.#calls.push({ ...call, caller, run_id, carryOut, answer });
    });
  }

  #commit(steps: readonly Step[]): Committed {
    const results = [];
    this.#connection.exec('savepoint change');
    const undo = () => this.#connection.exec('rollback to change; release change');
    for (const [index, step] of steps.entries()) {
      try {
        const result = this.#execute(step);
        results.push(result);
        if (!isRefused(step, result)) continue;
        undo();
        return { refusedAt: index };
      } catch (thrown) {
        undo();
        const error = storeError(thrown);
        if (isExpectedConflict(step, error)) return { refusedAt: index };
        throw error;
      }
    }
    this.#connection.exec('release change');
    return { results };
  }

  /** The store as a process of that name sees it. */
  db(run_id: string, caller: Caller): Db {
    const send = <Value>(steps: readonly Statement[], isChange: boolean, carryOut: () => Value) =>
      this.#send(caller, run_id, { steps, isChange }, carryOut);
    return createDb<Engine>({
      engine: 'sqlite',
      run_id,
      room: Number.POSITIVE_INFINITY,
      isRunning: async (other) => this.#running.has(other),
      query: (statement) => send([statement], false, () => this.#execute(statement).rows),
      requestArrived: () => undefined,
      commit: (steps) => send(steps, true, () => this.#commit(steps)),
      close: async () => undefined,
    });
  }

  /** The store without any scheduling, for setting it up and for looking into it. */
  get direct(): MigratableDb {
    const run = <Value>(work: () => Value): Promise<Value> => {
      try {
        return Promise.resolve(work());
      } catch (error) {
        return Promise.reject(storeError(error));
      }
    };
    return createDb<MigratableEngine>({
      engine: 'sqlite',
      run_id: 'direct',
      room: Number.POSITIVE_INFINITY,
      isRunning: async () => true,
      query: (statement: Statement) => run(() => this.#execute(statement).rows),
      requestArrived: () => undefined,
      commit: (steps: readonly Step[]) => run(() => this.#commit(steps)),
      close: async () => undefined,
      exclusively: (work) =>
        work({
          all: async (sql, params) => this.#execute({ sql, params }).rows as never[],
          exec: async (script) => this.#connection.exec(script),
        }),
    });
  }
}

/** The beginning of each statement, for the trace. */
const wordsOf = ({ steps }: Call): string => steps.map(({ sql }) => wordOf(sql)).join(', ');

const words = new Map<string, string>();

function wordOf(sql: string): string {
  let word = words.get(sql);
  if (word === undefined) {
    const [, verb = '', updated] = /^\s*(\w+)(?:\s+(\w+))?/.exec(sql) ?? [];
    const [, table] = /\b(?:from|into)\s+(\w+)/.exec(sql) ?? [];
    word = verb === 'update' ? `update ${updated}` : table ? `${verb} ${table}` : 'requires';
    words.set(sql, word);
  }
  return word;
}
