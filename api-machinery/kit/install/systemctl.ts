/** Calls systemctl, on the running machine or for a staged root. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Timeout of a call: starting the agent may wait for its runtime. */
const TIMEOUT_MS = 180_000;

/** A failed call of systemctl, with its output. */
export class SystemctlError extends Error {
  constructor(args: readonly string[], cause: unknown) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
    super(`systemctl ${args.join(' ')} failed${said === '' ? '' : `: ${said}`}`, { cause });
    this.name = 'SystemctlError';
  }
}

/** @throws SystemctlError */
export type Systemctl = (args: readonly string[]) => Promise<void>;

export async function systemctl(args: readonly string[]): Promise<void> {
  try {
    await run('systemctl', [...args], { timeout: TIMEOUT_MS });
  } catch (thrown) {
    throw new SystemctlError(args, thrown);
  }
}
