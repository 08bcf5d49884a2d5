/** Asks the runtime for the status of one object and turns it into an observation. */
import { isNotFound } from '#cri/errors.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { CriReader } from './read.ts';
import type { ObservedContainer, ObservedSandbox } from './types.ts';

export interface StatusReaderDeps {
  readonly runtime: RuntimeService;
  readonly read: CriReader;
  /** The container's last words, read when it has exited; empty when it left none. Never rejects. */
  readonly terminationMessage: (container: ObservedContainer) => Promise<string>;
}

/** Each answers `undefined` when the object is gone or not this agent's. @throws CriError otherwise */
export interface StatusReader {
  container(id: string, known: ObservedContainer | undefined): Promise<ObservedContainer | undefined>;
  sandbox(id: string): Promise<ObservedSandbox | undefined>;
  /** What a container that exited left to say; empty when it left nothing. Never rejects. */
  lastWords(container: ObservedContainer): Promise<string>;
}

export function createStatusReader({ runtime, read, terminationMessage }: StatusReaderDeps): StatusReader {
  return {
    async container(id, known) {
      const answer = await orGone(runtime.containerStatus({ containerId: id }));
      if (answer?.status === undefined) return undefined;
      const seen = read.containerStatus(answer.status, known);
      if (seen?.state !== 'exited') return seen;
      return { ...seen, message: (await terminationMessage(seen)) || seen.message };
    },
    lastWords: terminationMessage,
    async sandbox(id) {
      const answer = await orGone(runtime.podSandboxStatus({ podSandboxId: id }));
      return answer?.status === undefined ? undefined : read.sandboxStatus(answer.status);
    },
  };
}

async function orGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (thrown) {
    if (isNotFound(thrown)) return undefined;
    throw thrown;
  }
}
