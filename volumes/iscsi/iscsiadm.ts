/** The initiator's program, and what its exit codes mean. */
import type { ProgramResult, RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';

export const QUICK_MS = 30_000;
/** Discovery, login and logout wait for the target. */
export const TARGET_MS = 60_000;

/** Exit codes that are good news at times. */
export const SESSION_EXISTS = 15;
export const NO_RECORDS = 21;
const AUTH_FAILED = 24;

/** What failed, with the program's own words. */
export function adminFailure(what: string, result: ProgramResult): VolumeSetupError {
  const refused = ' (the target refuses the initiator: see CHAP, its secret, and initiatorName)';
  const hint = result.code === AUTH_FAILED ? refused : '';
  return new VolumeSetupError(`${what}${hint}: ${failText('iscsiadm', result)}`);
}

export interface Admin {
  /** Runs it, whatever comes of it. @param timeoutMs `QUICK_MS` by default */
  try(args: readonly string[], signal: AbortSignal, timeoutMs?: number): Promise<ProgramResult>;
  /** @param what what there is not if it fails @throws VolumeSetupError */
  must(what: string, args: readonly string[], signal: AbortSignal): Promise<ProgramResult>;
  /** Tidies up, even where the work itself was given up. */
  tidy(args: readonly string[]): Promise<ProgramResult>;
}

export function createAdmin(run: RunProgram): Admin {
  const attempt: Admin['try'] = (args, signal, timeoutMs = QUICK_MS) =>
    run('iscsiadm', args, { signal, timeoutMs });
  return {
    try: attempt,
    async must(what, args, signal) {
      const result = await attempt(args, signal);
      if (result.code !== 0) throw adminFailure(what, result);
      return result;
    },
    tidy: (args) => attempt(args, new AbortController().signal),
  };
}
