/** Thrown values as errors, and codes of system errors. */

/** Returns the thrown value as an Error; anything else is wrapped with its text. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Returns the `code` of a system error (`ENOENT`), or undefined for any other thrown value. */
export function errorCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** Reports whether the value is a system error with one of the codes. */
export function hasCode(thrown: unknown, ...codes: readonly string[]): boolean {
  const code = errorCode(thrown);
  return code !== undefined && codes.includes(code);
}

/** Returns the code of a system error; the name of any other error. */
export const codeOrName = (thrown: unknown): string => errorCode(thrown) ?? asError(thrown).name;

/** Runs `attempt` and ignores system errors with one of `codes`; returns true when it succeeded. */
export async function unlessCode(
  codes: readonly string[],
  attempt: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch (thrown) {
    if (hasCode(thrown, ...codes)) return false;
    throw thrown;
  }
}
