type Entry = { readonly time: number; readonly place: number; readonly happen: () => void };

const isBefore = (one: Entry, other: Entry) =>
  one.time < other.time || (one.time === other.time && one.place < other.place);

/** What is to happen, in the order of time. Of what happens in the same moment, what was planned first is first. */
export class Agenda {
  /** Milliseconds since the beginning. */
  now = 0;
  /** A binary heap: each entry is before those at twice its index plus one and two. */
  readonly #entries: Entry[] = [];
  #planned = 0;

  after(ms: number, happen: () => void): void {
    const entry = { time: this.now + ms, place: this.#planned++, happen };
    const entries = this.#entries;
    let at = entries.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(entry, entries[above]!)) break;
      entries[at] = entries[above]!;
      at = above;
    }
    entries[at] = entry;
  }

  /** Lets everything happen that is due until then. */
  run(until: number): void {
    while (this.#entries.length > 0 && this.#entries[0]!.time <= until) {
      const { time, happen } = this.#take();
      this.now = time;
      happen();
    }
    this.now = until;
  }

  #take(): Entry {
    const entries = this.#entries;
    const first = entries[0]!;
    const last = entries.pop()!;
    const { length } = entries;
    if (length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= length) break;
      if (below + 1 < length && isBefore(entries[below + 1]!, entries[below]!)) below += 1;
      if (!isBefore(entries[below]!, last)) break;
      entries[at] = entries[below]!;
      at = below;
    }
    entries[at] = last;
    return first;
  }
}

/** First come, first served. Many stay short, and an array that is shifted moves all that wait for each that leaves. */
export class Queue<Value> {
  #values: (Value | undefined)[] = [];
  #left = 0;

  get length(): number {
    return this.#values.length - this.#left;
  }

  push(value: Value): void {
    this.#values.push(value);
  }

  shift(): Value | undefined {
    if (this.length === 0) return undefined;
    const value = this.#values[this.#left];
    this.#values[this.#left++] = undefined; // it need not be kept until the others have left
    if (this.length === 0) {
      this.#values.length = this.#left = 0;
    } else if (this.#left > 1_000) {
      this.#values = this.#values.slice(this.#left);
      this.#left = 0;
    }
    return value;
  }

  /** The first so many, which leave. */
  take(most: number): Value[] {
    return Array.from({ length: Math.min(most, this.length) }, () => this.shift()!);
  }
}
