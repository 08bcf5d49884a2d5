/** Removal of sandboxes of this node whose agent instance is gone because its root directory was lost; their
 *  volumes are lost, too. Sandboxes of other agents, running or stopped, are never touched: their root
 *  directory still contains their instance ID, or they publish it. See
 *  docs/decisions/0081-sandboxes-of-lost-instances.md. */

import { readFile } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { PodSandbox, RuntimeService } from '#cri/gen/cri-v1.ts';
import { type CriKeys, criKeys, type Owner } from '../pod-identity/labels.ts';
import { stopTimeout } from './stop-timeout.ts';

export interface LostSandboxDeps {
  readonly runtime: Pick<
    RuntimeService,
    'listPodSandbox' | 'listContainers' | 'stopContainer' | 'stopPodSandbox' | 'removePodSandbox'
  >;
  readonly owner: Owner;
  readonly log: Logger;
  /** Default: reads the instance file of the root directory. @returns empty when it does not exist; rejects
   *  when it is unreadable */
  readonly instanceOf?: (rootDir: string) => Promise<string>;
  /** Default: checks whether an agent publishes the instance. */
  readonly isLive?: (instance: string) => Promise<boolean>;
}

export interface LostSandboxes {
  /** Removes sandboxes of an earlier instance on this root directory. Never rejects. */
  sweep(): Promise<void>;
  /** Removes sandboxes of a pod whose instance is gone. @returns whether there were any; rejects with
   *  CriError */
  removeOf(podUID: string): Promise<boolean>;
}

/** Keys of both vocabularies, since an agent may have changed its own. */
const KEYS: readonly CriKeys[] = Object.values(VOCABULARIES).map(criKeys);

const keysOf = ({ labels }: PodSandbox): CriKeys =>
  KEYS.find(({ instance }) => labels[instance] !== undefined) ?? criKeys(VOCABULARIES.plat);

const DEFAULT_GRACE_SECONDS = 30;

const liveName = (instance: string): string => `\0nodeagent-instance-${instance}`;

/** Publishes that the agent of an instance is alive, until the process exits: the kernel releases the
 *  abstract socket name with it. */
export async function showInstance(instance: string, log: Logger): Promise<AsyncDisposable> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  await new Promise<void>((resolve) => {
    server.once('error', (err) => {
      log.debug({ err }, 'Failed to publish agent instance');
      resolve();
    });
    server.listen(liveName(instance), resolve);
  });
  server.on('error', () => undefined);
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** Reports whether an agent of the instance is alive in this network namespace. */
export function isShown(instance: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ path: liveName(instance) });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function readInstance(rootDir: string): Promise<string> {
  try {
    return (await readFile(join(rootDir, 'instance'), 'utf8')).trim();
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT', 'ENOTDIR')) return '';
    throw thrown;
  }
}

export function createLostSandboxes(deps: LostSandboxDeps): LostSandboxes {
  const { runtime, owner, log, instanceOf = readInstance, isLive = isShown } = deps;
  const own = criKeys(owner.vocabulary);
  const removals = new Map<string, Promise<void>>();

  async function isGone(sandbox: PodSandbox): Promise<boolean> {
    const { labels, annotations } = sandbox;
    const keys = keysOf(sandbox);
    const instance = labels[keys.instance] ?? '';
    const rootDir = annotations[keys.rootDir] ?? '';
    // Its own sandbox under the keys of another vocabulary that it used earlier.
    if (instance === owner.instance) return keys.instance !== own.instance;
    if (instance === '' || rootDir === '') return false;
    if (annotations[keys.node] !== owner.node) return false;
    if ((await instanceOf(rootDir).catch(() => instance)) === instance) return false;
    return !(await isLive(instance));
  }

  async function remove(sandbox: PodSandbox): Promise<void> {
    const { id, labels } = sandbox;
    const keys = keysOf(sandbox);
    const pod = { namespace: labels[keys.podNamespace], name: labels[keys.podName] };
    log.warn({ ...pod, sandboxID: id }, 'Removing sandbox of a lost agent instance');
    const { containers } = await runtime.listContainers({ filter: { podSandboxId: id } });
    await Promise.all(
      containers
        .filter(({ state }) => state === 'CONTAINER_RUNNING')
        .map(({ id: containerId, annotations }) => {
          const seconds = Number(annotations[keys.podTerminationGracePeriod] ?? DEFAULT_GRACE_SECONDS);
          const timeout = stopTimeout(Number.isFinite(seconds) ? seconds : DEFAULT_GRACE_SECONDS);
          return runtime.stopContainer({ containerId, timeout });
        }),
    );
    await runtime.stopPodSandbox({ podSandboxId: id });
    await runtime.removePodSandbox({ podSandboxId: id });
  }

  /** Coalesces concurrent removals of one sandbox. */
  function removeOnce(sandbox: PodSandbox): Promise<void> {
    const { id } = sandbox;
    const known = removals.get(id);
    if (known !== undefined) return known;
    const removal = remove(sandbox).finally(() => removals.delete(id));
    removals.set(id, removal);
    return removal;
  }

  async function goneAmong(sandboxes: readonly PodSandbox[]): Promise<readonly PodSandbox[]> {
    const gone = await Promise.all(sandboxes.map(isGone));
    return sandboxes.filter((_, index) => gone[index]);
  }

  return {
    async sweep() {
      try {
        const { items } = await runtime.listPodSandbox({});
        const here = items.filter((item) => item.annotations[keysOf(item).rootDir] === owner.rootDir);
        for (const { status, reason } of await settleAll(await goneAmong(here), removeOnce)) {
          if (status === 'rejected')
            log.warn({ err: asError(reason) }, 'Failed to remove sandbox of a lost agent instance');
        }
      } catch (err) {
        log.warn({ err: asError(err) }, 'Failed to find sandboxes of lost agent instances');
      }
    },
    async removeOf(podUID) {
      const found = await Promise.all(
        KEYS.map((keys) => runtime.listPodSandbox({ filter: { labelSelector: { [keys.podUID]: podUID } } })),
      );
      const gone = await goneAmong(found.flatMap(({ items }) => items));
      await Promise.all(gone.map(removeOnce));
      return gone.length > 0;
    },
  };
}

interface Settled {
  readonly status: 'fulfilled' | 'rejected';
  readonly reason?: unknown;
}

const settleAll = (
  sandboxes: readonly PodSandbox[],
  work: (sandbox: PodSandbox) => Promise<void>,
): Promise<readonly Settled[]> => Promise.allSettled(sandboxes.map(work));
