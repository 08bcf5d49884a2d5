/** The logs of all running containers of this node. */
import { join } from 'node:path';
import type { Logger } from '#api/kit/logger.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import type { ContainerRecord } from '../state/records.ts';
import { followLog, type LogFollower } from './follower.ts';

export interface ContainerLogs {
  /** Creates the log if necessary and follows the output. Idempotent. */
  follow(container: ContainerRecord): Promise<void>;
  /** @throws CallRejection for a container whose log is not followed */
  reopen(container: ContainerRecord): Promise<void>;
  /** Resolves when the log contains all output of a container that has exited. */
  complete(container: ContainerRecord): Promise<void>;
  forget(id: string): void;
  close(): Promise<void>;
}

export interface ContainerLogsDeps {
  readonly log: Logger;
  /** Data directory of docker. */
  readonly rootDir: () => string;
}

export function createContainerLogs({ log, rootDir }: ContainerLogsDeps): ContainerLogs {
  const followers = new Map<string, Promise<LogFollower>>();
  /** Containers whose logs are whole. */
  const completed = new Set<string>();

  async function follow({ id, note }: ContainerRecord): Promise<LogFollower | undefined> {
    if (note.logPath === '' || completed.has(id)) return undefined;
    const source = join(rootDir(), 'containers', id, `${id}-json.log`);
    const follower = followers.get(id) ?? followLog({ log, source, target: note.logPath });
    followers.set(id, follower);
    follower.catch(() => followers.delete(id));
    return follower;
  }

  return {
    follow: async (container) => void (await follow(container)),
    async reopen({ id, note }) {
      if (note.logPath === '') return;
      const follower = await followers.get(id);
      if (follower === undefined)
        throw new CallRejection('FailedPrecondition', `container ${id} has no open log`);
      await follower.reopen();
    },
    async complete(container) {
      const { id } = container;
      if (completed.has(id) || container.startedAtNs === 0n) return;
      try {
        await (await follow(container))?.complete();
      } catch (err) {
        // The exit of the container must be published even if its log cannot be written.
        log.warn({ err, containerId: id, path: container.note.logPath }, 'Failed to complete container log');
      }
      completed.add(id);
      followers.delete(id);
    },
    forget(id) {
      completed.delete(id);
      const follower = followers.get(id);
      followers.delete(id);
      follower?.then((one) => one.close()).catch(() => undefined);
    },
    async close() {
      const open = [...followers.values()];
      followers.clear();
      await Promise.all(open.map((follower) => follower.then((one) => one.close()).catch(() => undefined)));
    },
  };
}
