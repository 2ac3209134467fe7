/** A sentence for the operator: a store cannot be moved like this. */
export class MoveRefused extends Error {
  override name = 'MoveRefused';
}
