/** Commands in containers for probes and hooks, over CRI. */
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { ExecSync } from './exec.ts';

/** CRI counts the time limit in whole seconds; parts of one are rounded up, 0 stays "none". */
export function createExecSync(runtime: Pick<RuntimeService, 'execSync'>): ExecSync {
  return (containerId, argv, timeoutMs, signal) => {
    const timeout = BigInt(Math.ceil(timeoutMs / 1000));
    return runtime.execSync({ containerId, cmd: argv, timeout }, { signal });
  };
}
