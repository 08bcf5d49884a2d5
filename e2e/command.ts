/** How a command in a machine of the end-to-end tests ended. */

export interface CommandResult {
  /** −1 when it was ended for taking too long. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a command said that had to succeed. @throws Error with all that it said */
export function outputOf(argv: readonly string[], result: CommandResult): string {
  if (result.exitCode === 0) return result.stdout;
  throw new Error(`${argv.join(' ')} ended with ${result.exitCode}: ${result.stderr}${result.stdout}`);
}

/** The promise's value. @throws Error with this message when it takes longer */
export async function within<T>(promise: Promise<T>, timeoutMs: number, message: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(message)), timeoutMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
