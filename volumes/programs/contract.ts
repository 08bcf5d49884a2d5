/** Contract for running system programs that some volumes need. */

export interface ProgramOptions {
  readonly signal: AbortSignal;
  /** Timeout, after which the program and its children are killed. */
  readonly timeoutMs: number;
  /** Added to a small fixed environment; pass secrets here or in `input`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to its standard input, which is empty otherwise. */
  readonly input?: string;
}

export interface ProgramResult {
  /** Exit code; 128 plus the signal number if a signal ended the program. */
  readonly code: number;
  /** Truncated after 1 MiB each. */
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program by name with these arguments, without a shell. Resolves when it exits, whatever its exit
 *  code.
 *  @throws MissingProgramError when it is not installed; ProgramTimeoutError; the signal's reason */
export type RunProgram = (
  program: string,
  args: readonly string[],
  options: ProgramOptions,
) => Promise<ProgramResult>;
