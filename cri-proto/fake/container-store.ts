/** Containers of the fake: CREATED -> RUNNING -> EXITED -> removed. Knows sandboxes only by ID. */
import { randomBytes } from 'node:crypto';
import type { ContainerConfig, ContainerState } from '../gen/cri-v1.ts';
import { FakeFailure } from './failure.ts';

export interface FakeContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly imageId: string;
  readonly state: ContainerState;
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly exitCode: number;
  readonly reason: string;
}

export interface ExitOptions {
  /** Default 0. */
  readonly exitCode?: number;
  /** Killed by the OOM killer: `exitCode` defaults to 137. */
  readonly oomKilled?: boolean;
}

/** Notification of a change; `id` is that of a container or a sandbox. */
export type StoreEvent =
  | {
      readonly kind: 'created' | 'started' | 'deleted' | 'oom';
      readonly id: string;
      readonly sandboxId: string;
    }
  | {
      readonly kind: 'stopped';
      readonly id: string;
      readonly sandboxId: string;
      readonly exitCode: number;
      readonly exitedAtMs: number;
    };

export interface StoreDeps {
  /** Wall time in ms. */
  readonly now: () => number;
  readonly onEvent: (event: StoreEvent) => void;
}

export interface ContainerStore {
  readonly list: () => readonly FakeContainer[];
  /** @throws FakeFailure (`NotFound`) */
  readonly get: (id: string) => FakeContainer;
  readonly of: (sandboxId: string) => readonly FakeContainer[];
  readonly create: (sandboxId: string, config: ContainerConfig | undefined, imageId: string) => string;
  readonly start: (id: string) => void;
  /** Ends a running container; no effect on any other. */
  readonly exit: (id: string, exit?: ExitOptions) => void;
  /** Succeeds if the container does not exist. */
  readonly remove: (id: string) => void;
}

export function createContainerStore(deps: StoreDeps): ContainerStore {
  const containers = new Map<string, FakeContainer>();

  function get(id: string): FakeContainer {
    const found = containers.get(id);
    if (found !== undefined) return found;
    throw new FakeFailure('NotFound', `container "${id}" not found`);
  }

  const of = (sandboxId: string): readonly FakeContainer[] =>
    [...containers.values()].filter((candidate) => candidate.sandboxId === sandboxId);

  function exit(id: string, how: ExitOptions = {}): void {
    const running = get(id);
    if (running.state !== 'CONTAINER_RUNNING') return;
    const { sandboxId } = running;
    const oomKilled = how.oomKilled === true;
    const exitCode = how.exitCode ?? (oomKilled ? 137 : 0);
    const finishedAtMs = deps.now();
    const reason = oomKilled ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error';
    containers.set(id, { ...running, state: 'CONTAINER_EXITED', exitCode, finishedAtMs, reason });
    if (oomKilled) deps.onEvent({ kind: 'oom', id, sandboxId });
    deps.onEvent({ kind: 'stopped', id, sandboxId, exitCode, exitedAtMs: finishedAtMs });
  }

  return {
    list: () => [...containers.values()],
    get,
    of,
    exit,
    create(sandboxId, config, imageId) {
      const name = containerName(config);
      const inUse = of(sandboxId).some((other) => containerName(other.config) === name);
      if (inUse || config === undefined) {
        throw new FakeFailure('Unknown', `name "${name}" is reserved by another container`);
      }
      const created = newContainer(sandboxId, config, imageId, deps.now());
      containers.set(created.id, created);
      deps.onEvent({ kind: 'created', id: created.id, sandboxId });
      return created.id;
    },
    start(id) {
      const found = get(id);
      if (found.state !== 'CONTAINER_CREATED') {
        throw new FakeFailure('Unknown', `container "${id}" is in ${found.state} state`);
      }
      containers.set(id, { ...found, state: 'CONTAINER_RUNNING', startedAtMs: deps.now() });
      deps.onEvent({ kind: 'started', id, sandboxId: found.sandboxId });
    },
    remove(id) {
      const found = containers.get(id);
      if (found === undefined) return;
      exit(id, { exitCode: 137 });
      containers.delete(id);
      deps.onEvent({ kind: 'deleted', id, sandboxId: found.sandboxId });
    },
  };
}

function newContainer(
  sandboxId: string,
  config: ContainerConfig,
  imageId: string,
  createdAtMs: number,
): FakeContainer {
  return {
    id: randomBytes(32).toString('hex'),
    sandboxId,
    config,
    imageId,
    state: 'CONTAINER_CREATED',
    createdAtMs,
    startedAtMs: 0,
    finishedAtMs: 0,
    exitCode: 0,
    reason: '',
  };
}

function containerName(config: ContainerConfig | undefined): string {
  const metadata = config?.metadata;
  if (metadata === undefined || metadata.name === '') {
    throw new FakeFailure('InvalidArgument', 'container config has no metadata');
  }
  return `${metadata.name}_${metadata.attempt}`;
}
