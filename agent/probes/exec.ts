/** Exec probe: exit code 0 is success. */
import { isCriError } from '#cri/errors.ts';
import type { ProbeResult } from './probe-types.ts';

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** Runs a command in a container. When `signal` fires, its result is no longer needed; the command may keep
 *  running.
 *  @param timeoutMs 0 means none
 *  @throws CriError, with reason `DeadlineExceeded` when the command took longer than `timeoutMs` */
export type ExecSync = (
  containerId: string,
  argv: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<ExecResult>;

const MOST_OUTPUT_BYTES = 10 * 1024;

/** @throws CriError when the runtime could not run the command */
export async function probeExec(
  execSync: ExecSync,
  { containerId, argv, timeoutMs }: { containerId: string; argv: readonly string[]; timeoutMs: number },
  signal: AbortSignal,
): Promise<ProbeResult> {
  try {
    const result = await execSync(containerId, argv, timeoutMs, signal);
    return { outcome: result.exitCode === 0 ? 'success' : 'failure', output: execOutput(result) };
  } catch (thrown) {
    if (!isCriError(thrown, 'DeadlineExceeded')) throw thrown;
    return { outcome: 'failure', output: `command timed out after ${timeoutMs / 1000}s` };
  }
}

/** Returns standard output and error of a command as text, at most 10 KiB. */
export function execOutput({ stdout, stderr }: ExecResult): string {
  const room = Math.max(0, MOST_OUTPUT_BYTES - stdout.length);
  const bytes = Buffer.concat([stdout.subarray(0, MOST_OUTPUT_BYTES), stderr.subarray(0, room)]);
  return bytes.toString('utf8').trim();
}
