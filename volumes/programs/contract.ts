/** Programs of the system that some volumes need: what running one means to the rest of the room. */

export interface ProgramOptions {
  readonly signal: AbortSignal;
  /** The program and its children are killed then. */
  readonly timeoutMs: number;
  /** Added to a fixed, small environment; what a program must be told in secret belongs here or into `input`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to its standard input, which is empty otherwise. */
  readonly input?: string;
}

export interface ProgramResult {
  /** Exit code; 128 and the number of the signal for one that a signal ended. */
  readonly code: number;
  /** At most 1 MiB of each; the rest is read and thrown away. */
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program by its name with these arguments, without any shell. Ends with the program, whatever its exit code.
 *  @throws MissingProgramError when it is not installed; ProgramTimeoutError; the signal's reason */
export type RunProgram = (
  program: string,
  args: readonly string[],
  options: ProgramOptions,
) => Promise<ProgramResult>;
