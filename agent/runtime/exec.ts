/** Running a command in a container and waiting for it, for probes and hooks. */
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { ExecSync } from '../probes/exec.ts';

/** Time for the runtime to answer after the command's own time is over, in ms. */
const ANSWER_MS = 2_000;

export function createExecSync(runtime: Pick<RuntimeService, 'execSync'>): ExecSync {
  return async (containerId, argv, timeoutMs, signal) => {
    const timeout = BigInt(Math.ceil(timeoutMs / 1000));
    const options = { signal, timeoutMs: timeoutMs === 0 ? 0 : timeoutMs + ANSWER_MS };
    return runtime.execSync({ containerId, cmd: argv, timeout }, options);
  };
}
