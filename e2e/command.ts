/** Results of commands in a machine of the end-to-end tests. */

export interface CommandResult {
  /** −1 if it was killed on timeout. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Returns the output of a command that must succeed. @throws Error with all output */
export function outputOf(argv: readonly string[], result: CommandResult): string {
  if (result.exitCode === 0) return result.stdout;
  throw new Error(`${argv.join(' ')} ended with ${result.exitCode}: ${result.stderr}${result.stdout}`);
}

/** Returns the promise's value. @throws Error with this message on timeout */
export async function within<T>(promise: Promise<T>, timeoutMs: number, message: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(message)), timeoutMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
