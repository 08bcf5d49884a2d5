/** What all methods of the runtime share. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import type { DockerClient } from './client/docker-client.ts';
import type { DockerInfo } from './client/parse.ts';
import type { ConfigCodec } from './config/messages.ts';
import type { ImageIndex } from './images/index.ts';
import type { ContainerLogs } from './logs/container-logs.ts';
import type { PodNetworks } from './network/pod-networks.ts';
import type { Mirror } from './state/mirror.ts';
import type { ContainerRecord, SandboxRecord } from './state/records.ts';
import type { SandboxFiles } from './state/sandbox-files.ts';

export interface DockerContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly client: DockerClient;
  readonly codec: ConfigCodec;
  readonly mirror: Mirror;
  /** Value of the label of own containers. */
  readonly node: string;
  readonly sandboxImage: string;
  readonly images: ImageIndex;
  readonly logs: ContainerLogs;
  readonly files: SandboxFiles;
  readonly networks: PodNetworks;
  /** Names of the sandboxes that are being created. */
  readonly creating: Set<string>;
  /** Time without progress after which a pull is cancelled; 0 for none. */
  readonly progressDeadlineMs: number;
  /** Description of the connected daemon. @throws CallRejection `Unavailable` before the first connection */
  readonly daemon: () => DockerInfo;
  /** Lowest OOM score that the daemon may set; undefined for any. */
  readonly lowestOomScore: () => number | undefined;
}

export function requireSandbox({ mirror }: Pick<DockerContext, 'mirror'>, id: string): SandboxRecord {
  const record = mirror.get(id);
  if (record?.kind === 'sandbox') return record;
  throw new CallRejection('NotFound', `sandbox ${JSON.stringify(id)} not found`);
}

export function requireContainer({ mirror }: Pick<DockerContext, 'mirror'>, id: string): ContainerRecord {
  const record = mirror.get(id);
  if (record?.kind === 'container') return record;
  throw new CallRejection('NotFound', `container ${JSON.stringify(id)} not found`);
}

/** @throws CallRejection for one that does not run */
export function requireRunning(context: Pick<DockerContext, 'mirror'>, id: string): ContainerRecord {
  const container = requireContainer(context, id);
  if (container.phase === 'running') return container;
  throw new CallRejection('FailedPrecondition', `container ${id} is ${container.phase}, must be running`);
}

export const nowNs = (clock: Clock): bigint => BigInt(Math.round(clock.now() * 1000)) * 1000n;
