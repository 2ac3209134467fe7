/** A sentence for the operator: cells or their servers are not as a command needs them. */
export class CellsRefused extends Error {
  override name = 'CellsRefused';
}
