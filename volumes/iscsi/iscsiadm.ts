/** The program `iscsiadm` and its exit codes. */

import { VolumeSetupError } from '../errors/setup-error.ts';
import type { ProgramResult, RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';

export const QUICK_MS = 30_000;
/** Discovery, login and logout wait for the target. */
export const TARGET_MS = 60_000;

/** Exit codes that may count as success. */
export const SESSION_EXISTS = 15;
export const NO_RECORDS = 21;
const AUTH_FAILED = 24;

/** Error of a failed step, with the program's output. */
export function adminFailure(what: string, result: ProgramResult): VolumeSetupError {
  const refused = ' (the target rejected the initiator: check CHAP, its secret and initiatorName)';
  const hint = result.code === AUTH_FAILED ? refused : '';
  return new VolumeSetupError(`${what}${hint}: ${failText('iscsiadm', result)}`);
}

export interface Admin {
  /** Runs it and returns any result. @param timeoutMs `QUICK_MS` by default */
  try(args: readonly string[], signal: AbortSignal, timeoutMs?: number): Promise<ProgramResult>;
  /** @param what the failed step, for the error @throws VolumeSetupError */
  must(what: string, args: readonly string[], signal: AbortSignal): Promise<ProgramResult>;
  /** Cleans up, even if the work itself was aborted. */
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
