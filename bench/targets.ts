/** What the figures of both benches should reach. `--check` compares with it, and docs/performance.md marks it. */
export const targets = {
  /** Answers per second, as a multiple of another server's, or of another scenario's (`relatives` in scenarios.ts). */
  ratios: {
    oidc_provider: { code_exchange: 3, refresh: 3, userinfo: 4, introspect: 4 },
    floor: { code_exchange: 1, discovery: 0.9, key_set: 0.9 },
    relative: { userinfo_new: 0.5, authorize: 1 },
  },
  /**
   * At most: milliseconds until the first answer; MB of resident memory before the first request, and fifteen seconds after the
   * load; bytes of the write-ahead log for a code and its exchange.
   */
  footprint: { first_start_ms: 600, later_start_ms: 350, idle_mb: 90, rested_mb: 160, wal_bytes: 10_000 },
  /** With `--postgres`, in place of those above; `exchange_us`: of server and database together. */
  postgres: { oidc_provider: { code_exchange: 1.5, refresh: 1.5 }, exchange_us: 600 },
  /** Processor time of a password sign-in, as a multiple of that of its hash alone. */
  sign_in: 1.1,
  /** Code exchanges per second on a disk whose flushes take two milliseconds more, as a part of those without. */
  slow_disk: 0.9,
  /** Answers per second of two processes on one SQLite store, as a multiple of those of one. */
  workers: { code_exchange: 1, refresh: 1, userinfo: 1, introspect: 1 },
  /** At most, of a large store: times as long as on a small one, milliseconds, bytes with all indexes, rows more. */
  size: { ratio: 1.5, key_set_ms: 50, start_ms: 1000, bytes_per_grant: 600, rows_per_refresh: 0 },
} as const;
