/** Termination message of an exited container: its termination log, or the end of its log. */
import type { Logger } from '#api/kit/logger.ts';
import { containerLogPath } from '../logs/paths.ts';
import { lastLogLines } from '../logs/tail.ts';
import { readTerminationMessage } from '../logs/termination-message.ts';
import type { RuntimeView } from './runtime-view.ts';
import type { ObservedContainer } from './types.ts';

export interface TerminationMessageDeps {
  readonly view: RuntimeView;
  readonly podLogsDir: string;
  /** Returns the termination log of one instance, and the directory that must contain it. */
  readonly files: {
    terminationLog(podUID: string, containerName: string, attempt: number): string;
    podDir(podUID: string): string;
  };
  readonly log: Logger;
}

/** Reads the message; empty when there is none or it is unreadable. Never rejects. */
export function createTerminationMessages(
  deps: TerminationMessageDeps,
): (container: ObservedContainer) => Promise<string> {
  async function read(container: ObservedContainer): Promise<string> {
    const { podUID, name, attempt, exitCode, fallsBackToLogs } = container;
    const path = deps.files.terminationLog(podUID, name, attempt);
    const message = (await readTerminationMessage(path, deps.files.podDir(podUID))) ?? '';
    if (message !== '' || !fallsBackToLogs || exitCode === 0) return message;
    const sandbox = deps.view.pod(podUID).sandboxes[0];
    if (sandbox === undefined) return '';
    const pod = { namespace: sandbox.podNamespace, name: sandbox.podName, uid: podUID };
    const log = containerLogPath(deps.podLogsDir, pod, name, attempt);
    return lastLogLines(log, undefined, undefined, deps.podLogsDir);
  }

  return async (container) => {
    try {
      return await read(container);
    } catch (err) {
      deps.log.warn({ err, containerID: container.id }, 'Failed to read termination message');
      return '';
    }
  };
}
