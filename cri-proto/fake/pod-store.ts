/** Sandboxes of the fake with their containers, with the call order of the CRI enforced.
 *  A sandbox is READY -> NOTREADY -> removed, together with its containers. */
import { randomBytes } from 'node:crypto';
import type { ContainerConfig, PodSandboxConfig, PodSandboxState } from '../gen/cri-v1.ts';
import {
  createContainerStore,
  type ExitOptions,
  type FakeContainer,
  type StoreDeps,
} from './container-store.ts';
import { FakeFailure } from './failure.ts';

export interface FakeSandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAtMs: number;
  readonly ip: string;
  readonly state: PodSandboxState;
}

export interface PodStore {
  readonly sandboxes: () => readonly FakeSandbox[];
  readonly containers: () => readonly FakeContainer[];
  /** @throws FakeFailure (`NotFound`), as all methods with an ID unless noted otherwise */
  readonly sandbox: (id: string) => FakeSandbox;
  readonly container: (id: string) => FakeContainer;
  readonly runSandbox: (config: PodSandboxConfig | undefined, runtimeHandler: string) => string;
  /** Stops its containers and releases its address. */
  readonly stopSandbox: (id: string) => void;
  /** Removes its containers too. Succeeds if the sandbox does not exist. */
  readonly removeSandbox: (id: string) => void;
  readonly createContainer: (
    sandboxId: string,
    config: ContainerConfig | undefined,
    imageId: string,
  ) => string;
  readonly startContainer: (id: string) => void;
  /** Ends a running container; no effect on any other. */
  readonly exitContainer: (id: string, exit?: ExitOptions) => void;
  /** Succeeds if the container does not exist. */
  readonly removeContainer: (id: string) => void;
}

export function createPodStore(deps: StoreDeps): PodStore {
  const sandboxes = new Map<string, FakeSandbox>();
  const containers = createContainerStore(deps);
  let addresses = 0;

  function sandbox(id: string): FakeSandbox {
    const found = sandboxes.get(id);
    if (found !== undefined) return found;
    throw new FakeFailure('NotFound', `sandbox "${id}" not found`);
  }

  function requireReady(id: string): void {
    if (sandbox(id).state !== 'SANDBOX_READY') {
      throw new FakeFailure('Unknown', `sandbox container "${id}" is not running`);
    }
  }

  function stopSandbox(id: string): void {
    const found = sandbox(id);
    for (const container of containers.of(id)) containers.exit(container.id, { exitCode: 137 });
    if (found.state === 'SANDBOX_NOTREADY') return;
    sandboxes.set(id, { ...found, state: 'SANDBOX_NOTREADY', ip: '' });
    deps.onEvent({ kind: 'stopped', id, sandboxId: id, exitCode: 137, exitedAtMs: deps.now() });
  }

  return {
    sandboxes: () => [...sandboxes.values()],
    containers: containers.list,
    sandbox,
    container: containers.get,
    stopSandbox,
    exitContainer: containers.exit,
    removeContainer: containers.remove,
    runSandbox(config, runtimeHandler) {
      const name = sandboxName(config);
      const inUse = [...sandboxes.values()].some((other) => sandboxName(other.config) === name);
      if (inUse || config === undefined) {
        throw new FakeFailure('Unknown', `name "${name}" is reserved by another sandbox`);
      }
      const id = randomBytes(32).toString('hex');
      const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
      addresses += 1;
      const ip = hostNetwork ? '' : `10.88.${addresses >> 8}.${addresses & 0xff}`;
      const createdAtMs = deps.now();
      sandboxes.set(id, { id, config, runtimeHandler, createdAtMs, ip, state: 'SANDBOX_READY' });
      deps.onEvent({ kind: 'created', id, sandboxId: id });
      deps.onEvent({ kind: 'started', id, sandboxId: id });
      return id;
    },
    removeSandbox(id) {
      if (!sandboxes.has(id)) return;
      stopSandbox(id);
      for (const container of containers.of(id)) containers.remove(container.id);
      sandboxes.delete(id);
      deps.onEvent({ kind: 'deleted', id, sandboxId: id });
    },
    createContainer(sandboxId, config, imageId) {
      requireReady(sandboxId);
      return containers.create(sandboxId, config, imageId);
    },
    startContainer(id) {
      requireReady(containers.get(id).sandboxId);
      containers.start(id);
    },
  };
}

function sandboxName(config: PodSandboxConfig | undefined): string {
  const metadata = config?.metadata;
  if (metadata === undefined || metadata.name === '') {
    throw new FakeFailure('InvalidArgument', 'sandbox config has no metadata');
  }
  return `${metadata.name}_${metadata.namespace}_${metadata.uid}_${metadata.attempt}`;
}
