/** Context of a contract case: a connection, and sandboxes and containers that are removed afterwards. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { CriConnection } from './client/connection.ts';

export interface ContractTarget {
  readonly cri: CriConnection;
  readonly clock: Clock;
  readonly log: Logger;
  /** Reference of an available image with `sh`, `cat` and `sleep`. */
  readonly image: string;
  /** Parent of the log directories of sandboxes. */
  readonly logRoot: string;
  /** Ends a container created from `containerConfig` with that exit code; resolves when the runtime reports
   *  EXITED. */
  readonly endContainer: (containerId: string, exitCode: number) => Promise<void>;
}

export interface ContractSandboxConfig {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly namespace: string;
    readonly attempt: number;
  };
  readonly logDirectory: string;
  readonly labels: { readonly app: string };
  readonly annotations: { readonly note: string };
  readonly linux: {
    readonly securityContext: { readonly namespaceOptions: { readonly network: 'NODE' } };
  };
}

export interface ContractContainerConfig {
  readonly metadata: { readonly name: string; readonly attempt: number };
  readonly image: { readonly image: string };
  readonly command: readonly string[];
  readonly labels: { readonly app: string };
  readonly logPath: string;
}

export interface ContractSandbox {
  readonly podSandboxId: string;
  readonly config: ContractSandboxConfig;
}

export interface ContractContext extends ContractTarget {
  readonly runSandbox: () => Promise<ContractSandbox>;
  /** Registers a sandbox that the case created itself for removal. */
  readonly adoptSandbox: (podSandboxId: string) => void;
  readonly containerConfig: () => ContractContainerConfig;
  readonly createContainer: (
    sandbox: ContractSandbox,
  ) => Promise<{ readonly containerId: string; readonly config: ContractContainerConfig }>;
  readonly startContainer: (sandbox: ContractSandbox) => Promise<string>;
}

/** Runs until the file `/exit` appears, whose content is the exit code. */
const WAIT_FOR_EXIT = 'while ! test -s /exit; do sleep 0.02; done; exit $(cat /exit)';

/** Runs `work` and removes its sandboxes, even after a failure. */
export async function withContractContext(
  target: ContractTarget,
  work: (context: ContractContext) => Promise<void>,
): Promise<void> {
  const { runtime } = target.cri;
  const sandboxes: string[] = [];

  async function createContainer(
    sandbox: ContractSandbox,
  ): Promise<{ readonly containerId: string; readonly config: ContractContainerConfig }> {
    const config = newContainerConfig(target.image);
    const { podSandboxId, config: sandboxConfig } = sandbox;
    const { containerId } = await runtime.createContainer({ podSandboxId, config, sandboxConfig });
    return { containerId, config };
  }

  const context: ContractContext = {
    ...target,
    adoptSandbox: (id) => void sandboxes.push(id),
    containerConfig: () => newContainerConfig(target.image),
    createContainer,
    async runSandbox() {
      const config = newSandboxConfig(target.logRoot);
      const { podSandboxId } = await runtime.runPodSandbox({ config });
      sandboxes.push(podSandboxId);
      return { podSandboxId, config };
    },
    async startContainer(sandbox) {
      const { containerId } = await createContainer(sandbox);
      await runtime.startContainer({ containerId });
      return containerId;
    },
  };
  try {
    await work(context);
  } finally {
    for (const podSandboxId of sandboxes) {
      const known = await runtime.listPodSandbox({ filter: { id: podSandboxId } });
      if (known.items.length > 0) await runtime.stopPodSandbox({ podSandboxId });
      await runtime.removePodSandbox({ podSandboxId });
    }
  }
}

function newSandboxConfig(logRoot: string): ContractSandboxConfig {
  const uid = randomUUID();
  return {
    metadata: { name: 'contract', uid, namespace: 'default', attempt: 0 },
    logDirectory: `${logRoot}/${uid}`,
    labels: { app: `app-${uid}` },
    annotations: { note: 'one two' },
    linux: { securityContext: { namespaceOptions: { network: 'NODE' } } },
  };
}

function newContainerConfig(image: string): ContractContainerConfig {
  const name = `c-${randomUUID()}`;
  return {
    metadata: { name, attempt: 0 },
    image: { image },
    command: ['sh', '-c', WAIT_FOR_EXIT],
    labels: { app: name },
    logPath: `${name}.log`,
  };
}
