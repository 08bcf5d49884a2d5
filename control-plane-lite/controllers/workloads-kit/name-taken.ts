/** The name that was made for a version of a template belongs to another version, or to somebody else. */
export class NameTakenError extends Error {
  override readonly name = 'NameTakenError';
  readonly reason = 'HashCollision';
  constructor(what: string, cause: unknown) {
    super(`${what} is there already, for another template or of another owner`, { cause });
  }
}
