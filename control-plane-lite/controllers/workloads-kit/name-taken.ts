/** Error: the name generated for a revision of a template belongs to another revision or another owner. */
export class NameTakenError extends Error {
  override readonly name = 'NameTakenError';
  readonly reason = 'HashCollision';
  constructor(what: string, cause: unknown) {
    super(`${what} already exists for another template or owner`, { cause });
  }
}
