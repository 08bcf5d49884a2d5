/** Runs a command to its end and collects its output, for probes and hooks. */
import type { Clock } from '#api/kit/clock.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import type { DockerClient } from '../client/docker-client.ts';
import { execProcess, startFailure } from './process.ts';

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** Maximum output of each stream; the rest is discarded, as other runtimes do. */
const MOST_OUTPUT_BYTES = 16 * 1024 * 1024;

/** @param timeoutMs 0 for none
 *  @throws CallRejection `DeadlineExceeded` after the timeout, when the process has been killed */
export async function execSync(
  deps: { readonly clock: Clock; readonly client: DockerClient },
  containerId: string,
  command: readonly string[],
  timeoutMs: number,
): Promise<ExecResult> {
  const spec = { command, stdin: false, stdout: true, stderr: true, tty: false };
  const started = await execProcess(deps.client, containerId, spec);
  const output = { stdout: collector(), stderr: collector() };
  let isLate = false;
  const expire = async (): Promise<void> => {
    isLate = true;
    await started.kill().catch(() => undefined);
    started.close();
  };
  const timer = timeoutMs > 0 ? deps.clock.setTimer(() => void expire(), timeoutMs) : undefined;
  try {
    for await (const { stream, bytes } of started.output()) output[stream].add(bytes);
  } catch (thrown) {
    if (!isLate) throw thrown;
  } finally {
    timer?.cancel();
  }
  if (isLate) {
    throw new CallRejection(
      'DeadlineExceeded',
      `command ${JSON.stringify(command)} timed out after ${timeoutMs / 1000} s`,
    );
  }
  const exitCode = await started.exitCode();
  const stdout = output.stdout.bytes();
  const failure = startFailure(exitCode, stdout.toString('utf8'));
  if (failure !== undefined) throw new CallRejection('Unknown', failure);
  return { exitCode, stdout, stderr: output.stderr.bytes() };
}

function collector(): { readonly add: (bytes: Uint8Array) => void; readonly bytes: () => Buffer } {
  const parts: Uint8Array[] = [];
  let length = 0;
  return {
    add(bytes) {
      const kept = bytes.subarray(0, MOST_OUTPUT_BYTES - length);
      if (kept.byteLength === 0) return;
      parts.push(kept);
      length += kept.byteLength;
    },
    bytes: () => Buffer.concat(parts),
  };
}
