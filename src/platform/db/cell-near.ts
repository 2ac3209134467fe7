import { createDb, type Part } from './db.ts';
import { type Engine, StoreUnavailable } from './engine.ts';

/** A cell, and what its server is now. */
type Cell = Pick<Engine, 'query' | 'commit'> & { server?(): unknown };

/**
 * A part that is answered for by a cell, and while its server is away by the next one in the order of the cells that is on another server. So
 * all nodes agree where a row is that is kept there, as long as they reach the same servers. When the server is back, its rows are what they
 * were, and those of the other are not found any more: for what is counted, or forgotten soon.
 * @param place of the cell.
 */
export function partNear(common: Omit<Engine, 'query' | 'commit'>, cells: readonly Cell[], place: number): Part {
  const inOrder = [...cells.slice(place), ...cells.slice(0, place)];

  async function asked<Answer>(ask: (cell: Cell) => Promise<Answer>): Promise<Answer> {
    const away = new Set<unknown>();
    let reason: StoreUnavailable | undefined;
    for (const cell of inOrder) {
      const server = cell.server?.();
      if (away.has(server)) continue;
      try {
        return await ask(cell);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        reason ??= error;
        away.add(server);
      }
    }
    throw reason!;
  }

  return createDb<Engine>({
    ...common,
    query: (statement) => asked((cell) => cell.query(statement)),
    commit: (steps) => asked((cell) => cell.commit(steps)),
  });
}
