/** Codes of system errors. */

/** Returns the `code` of a system error (`ENOENT`), or undefined for any other thrown value. */
export function errorCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** Runs `attempt` and ignores system errors with one of `codes`; returns true when it succeeded. */
export async function unlessCode(
  codes: readonly string[],
  attempt: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code !== undefined && codes.includes(code)) return false;
    throw thrown;
  }
}
