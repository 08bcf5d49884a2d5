/** Queries the status of one object and maps it to an observation. */
import { isNotFound } from '#cri/errors.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { CriReader } from './read.ts';
import type { ObservedContainer, ObservedSandbox } from './types.ts';

export interface StatusReaderDeps {
  readonly runtime: RuntimeService;
  readonly read: CriReader;
  /** Returns the termination message of an exited container; empty when it has none. Never rejects. */
  readonly terminationMessage: (container: ObservedContainer) => Promise<string>;
}

/** Both return `undefined` when the object is gone or belongs to others. @throws CriError otherwise */
export interface StatusReader {
  container(id: string, known: ObservedContainer | undefined): Promise<ObservedContainer | undefined>;
  sandbox(id: string): Promise<ObservedSandbox | undefined>;
  /** Returns the termination message of an exited container; empty when it has none. Never rejects. */
  terminationMessage(container: ObservedContainer): Promise<string>;
}

export function createStatusReader({ runtime, read, terminationMessage }: StatusReaderDeps): StatusReader {
  return {
    async container(id, known) {
      const response = await orGone(runtime.containerStatus({ containerId: id }));
      if (response?.status === undefined) return undefined;
      const seen = read.containerStatus(response.status, known);
      if (seen?.state !== 'exited') return seen;
      return { ...seen, message: (await terminationMessage(seen)) || seen.message };
    },
    terminationMessage,
    async sandbox(id) {
      const response = await orGone(runtime.podSandboxStatus({ podSandboxId: id }));
      return response?.status === undefined ? undefined : read.sandboxStatus(response.status);
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
