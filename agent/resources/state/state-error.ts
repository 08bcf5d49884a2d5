/** Error that prevents the start of a resource manager: an unusable state file or setting. */

/** The message names the file and the remedy. */
export class ResourceStateError extends Error {
  override readonly name = 'ResourceStateError';
}

/** @param what the defect, as text */
export function staleState(path: string, what: string, cause?: unknown): ResourceStateError {
  const remedy = `drain this node, remove ${path} and start the agent again`;
  return new ResourceStateError(`${path}: ${what}; ${remedy}`, { cause });
}
