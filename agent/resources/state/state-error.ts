/** A state file, or a setting, with which a manager of resources must not start. */

/** The message names the file and what to do about it. */
export class ResourceStateError extends Error {
  override readonly name = 'ResourceStateError';
}

/** @param what what doesn't fit, in words */
export function staleState(path: string, what: string, cause?: unknown): ResourceStateError {
  const remedy = `drain this node, remove ${path} and start the agent again`;
  return new ResourceStateError(`${path}: ${what}; ${remedy}`, { cause });
}
