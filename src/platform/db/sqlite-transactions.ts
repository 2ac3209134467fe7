import type { DatabaseSync } from 'node:sqlite';

/** How long a read, or a start, waits inside SQLite for another process. Node's own default is 0. */
export const busyTimeoutMs = 5_000;

/** The transactions of a connection that reads in one for each turn of the event loop, and writes in one for each group of changes. */
export function transactionControl(connection: DatabaseSync) {
  const impatient = connection.prepare('pragma busy_timeout = 0');
  const patient = connection.prepare(`pragma busy_timeout = ${busyTimeoutMs}`);
  const begin = connection.prepare('begin immediate');
  const commit = connection.prepare('commit');
  const rollback = connection.prepare('rollback');
  const savepoint = connection.prepare('savepoint unit');
  const release = connection.prepare('release unit');
  const rollbackTo = connection.prepare('rollback to unit');
  const beginReading = connection.prepare('begin');
  const dataVersion = connection.prepare('pragma data_version');
  dataVersion.setReturnArrays(true);
  let knownVersion: unknown;
  let isReading = false;
  let hasRequests = false;

  function endReading(): void {
    if (!isReading) return;
    isReading = false; // first: should the commit fail, the next read fails, too, instead of seeing this state for ever
    if (connection.isOpen) commit.run();
  }

  /** @returns whether another connection has committed since the last call. It may not have flushed that yet. */
  function hasForeignChange(): boolean {
    const [version] = dataVersion.get() as unknown as [number];
    const isNew = version !== knownVersion;
    knownVersion = version;
    return isNew;
  }

  return {
    /**
     * Call it before a read. The reads of one event-loop turn share a transaction, up to the next change: to take its locks
     * and to release them costs as much as to find a row by its key.
     * @returns whether they see a foreign change that they are the first to see.
     */
    beginReading(): boolean {
      if (isReading) return false;
      beginReading.run();
      isReading = true;
      setImmediate(endReading);
      return hasForeignChange();
    },
    /**
     * Call it when a request arrives. A turn's requests come together, in its poll phase. A read before them, in a timer or
     * an immediate, may have begun before another process confirmed a change that the request's sender knows of.
     */
    requestArrived() {
      if (hasRequests) return;
      hasRequests = true;
      setImmediate(() => (hasRequests = false));
      endReading();
    },
    /**
     * Fails at once when another process writes: SQLite would wait by sleeping, and the event loop with it.
     * @returns as {@link beginReading}.
     */
    begin(): boolean {
      endReading();
      impatient.get();
      try {
        begin.run();
      } finally {
        patient.get();
      }
      return hasForeignChange();
    },
    commit: () => commit.run(),
    rollback: () => rollback.run(),
    savepoint: () => savepoint.run(),
    release: () => release.run(),
    undo() {
      rollbackTo.run();
      release.run();
    },
  };
}
