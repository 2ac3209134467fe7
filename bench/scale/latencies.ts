/** Of neighbouring lengths of time that count as the same, as a multiple. */
const step = 1.01;
const leastMs = 0.001;
const steps = Math.ceil(Math.log(1e9) / Math.log(step));

/** How long requests took, to within one percent, of however many. */
export class Latencies {
  max = 0;
  #count = 0;
  readonly #counts = new Uint32Array(steps + 1);

  add(ms: number): void {
    const place = Math.round(Math.log(Math.max(ms, leastMs) / leastMs) / Math.log(step));
    this.#counts[Math.min(place, steps)]! += 1;
    this.#count += 1;
    this.max = Math.max(this.max, ms);
  }

  /** @returns milliseconds within which that part of them was answered; NaN when none was. */
  quantile(part: number): number {
    let left = part * this.#count;
    for (const [place, count] of this.#counts.entries()) {
      left -= count;
      if (left < 0) return leastMs * step ** place;
    }
    return Number.NaN;
  }
}
