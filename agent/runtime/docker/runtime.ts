/** Docker as a container runtime: the services of CRI on docker's API, and the state of the connection to docker.
 *  Touches only containers with the label of its node. */
import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import criV1 from '#cri/data/cri-v1.json' with { type: 'json' };
import type { StatusRequest, UpdateRuntimeConfigRequest } from '#cri/gen/cri-v1.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import type { ServedMethod, ServedService } from '#cri/server/served-service.ts';
import { createDockerClient } from './client/docker-client.ts';
import { openEngine } from './client/engine.ts';
import type { DockerInfo, InspectedContainer } from './client/parse.ts';
import { parseNote, type SandboxNote } from './config/labels.ts';
import { createConfigCodec } from './config/messages.ts';
import type { DockerContext } from './context.ts';
import { createImageIndex } from './images/index.ts';
import { createContainerLogs } from './logs/container-logs.ts';
import { containerMethods } from './methods/containers.ts';
import { containerEvents } from './methods/events.ts';
import { imageMethods } from './methods/images.ts';
import { collectLeftovers } from './methods/leftovers.ts';
import { sandboxKey, sandboxMethods } from './methods/sandboxes.ts';
import { statMethods } from './methods/stats.ts';
import { type StreamMethods, streamMethods } from './methods/streams.ts';
import { createDialer } from './network/dial.ts';
import type { PodNetworks } from './network/pod-networks.ts';
import { createDockerLink, type DockerLink } from './state/connect.ts';
import { createMirror } from './state/mirror.ts';
import type { ContainerRecord } from './state/records.ts';
import { createSandboxFiles } from './state/sandbox-files.ts';
import { createStreamingServer } from './streaming/server.ts';

export interface DockerRuntimeOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Socket of docker. */
  readonly socketPath: string;
  /** Value of the label of own containers; survives restarts. */
  readonly node: string;
  /** Persistent directory of the runtime. */
  readonly stateDir: string;
  readonly sandboxImage: string;
  readonly networks: PodNetworks;
  /** Time without progress after which a pull is cancelled; 0 for none. */
  readonly pullProgressDeadlineMs: number;
  /** Lowest OOM score that docker may set; undefined for any. */
  readonly lowestOomScore: number | undefined;
}

export interface DockerRuntime extends Pick<DockerLink, 'state' | 'onStateChange'> {
  /** The runtime service and the image service. */
  readonly services: readonly ServedService[];
  /** Follows docker until the signal fires; then releases everything but containers. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

const API_VERSION = 'v1';
const RUNTIME_NAME = 'docker';

// The table that decodes the requests is the one from which the types of the methods are generated.
function asServed(methods: object): Readonly<Record<string, ServedMethod>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return methods as Readonly<Record<string, ServedMethod>>;
}

function followLog({ log, logs }: DockerContext, container: ContainerRecord): void {
  logs.follow(container).catch((thrown: unknown) => {
    log.warn({ err: asError(thrown), containerId: container.id }, 'Failed to follow container log');
  });
}

export function createDockerRuntime(options: DockerRuntimeOptions): DockerRuntime {
  const { clock, node, networks } = options;
  const log = options.log.child({ component: 'docker' });
  const client = createDockerClient(openEngine(options.socketPath));
  const codec = createConfigCodec();
  const images = createImageIndex(client);
  const files = createSandboxFiles(join(options.stateDir, 'sandboxes'), codec);
  let info: DockerInfo | undefined;

  function daemon(): DockerInfo {
    if (info === undefined) throw new CallRejection('Unavailable', 'docker is not connected');
    return info;
  }
  const logs = createContainerLogs({ log, rootDir: () => daemon().rootDir });

  async function addressesOf(note: SandboxNote, inspected: InspectedContainer): Promise<readonly string[]> {
    if (note.network === 'docker') return inspected.addresses;
    if (note.network === 'host') return [];
    return (await files.read(sandboxKey(node, note.config)))?.addresses ?? [];
  }

  const creating = new Set<string>();
  const mirror = createMirror({
    clock,
    client,
    parseNote: (labels) => parseNote(codec, node, labels),
    completeLog: (container) => logs.complete(container),
    addressesOf,
    forget: ({ id }) => logs.forget(id),
    isCreating: ({ config }) => creating.has(sandboxKey(node, config)),
  });
  const context: DockerContext = {
    clock,
    log,
    client,
    codec,
    mirror,
    node,
    sandboxImage: options.sandboxImage,
    images,
    logs,
    files,
    networks,
    creating,
    progressDeadlineMs: options.pullProgressDeadlineMs,
    daemon,
    lowestOomScore: () => options.lowestOomScore,
  };
  const link = createDockerLink({
    clock,
    log,
    client,
    mirror,
    node,
    onInfo(next) {
      info = next;
      log.info({ version: next.serverVersion, cgroupDriver: next.cgroupDriver }, 'Docker connected');
    },
    onCurrent() {
      for (const container of mirror.containers()) {
        if (container.phase === 'running') followLog(context, container);
      }
      collectLeftovers(context).catch((thrown: unknown) => {
        log.warn({ err: asError(thrown) }, 'Failed to collect leftovers');
      });
    },
  });

  const server = createStreamingServer({ clock, log });
  return {
    services: servicesOf(context, link, streamMethods(context, { server, dial: createDialer() })),
    state: () => link.state(),
    onStateChange: (listener) => link.onStateChange(listener),
    async run(signal) {
      await link.run(signal);
      await Promise.all([logs.close(), server.close()]);
      client.close();
    },
  };
}

function servicesOf(
  context: DockerContext,
  link: DockerLink,
  streams: StreamMethods,
): readonly ServedService[] {
  const { types } = context.codec;
  const methods = {
    ...statusMethods(context, link),
    ...sandboxMethods(context),
    ...containerMethods(context),
    ...statMethods(context),
    ...streams,
  };
  return [
    {
      types,
      rpcs: criV1.services.RuntimeService,
      methods: asServed(methods),
      streams: { getContainerEvents: (_, signal) => containerEvents(context, link, signal) },
    },
    { types, rpcs: criV1.services.ImageService, methods: asServed(imageMethods(context)) },
  ];
}

/** Version, conditions and configuration of the runtime. */
function statusMethods({ daemon, networks }: DockerContext, link: DockerLink): object {
  return {
    version: async () => ({
      version: '0.1.0',
      runtimeName: RUNTIME_NAME,
      runtimeVersion: daemon().serverVersion,
      runtimeApiVersion: API_VERSION,
    }),
    async status({ verbose }: StatusRequest) {
      const isReady = link.state() === 'connected';
      const problem = await networks.problem();
      const conditions = [
        { type: 'RuntimeReady', status: isReady, ...(isReady ? {} : { reason: 'DockerNotConnected' }) },
        {
          type: 'NetworkReady',
          status: problem === undefined,
          ...(problem === undefined ? {} : { reason: 'NetworkPluginNotReady', message: problem }),
        },
      ];
      const info: Readonly<Record<string, string>> = verbose ? { cgroupDriver: daemon().cgroupDriver } : {};
      return { status: { conditions }, info };
    },
    async updateRuntimeConfig({ runtimeConfig }: UpdateRuntimeConfigRequest) {
      const cidr = runtimeConfig?.networkConfig?.podCidr ?? '';
      if (cidr !== '') networks.setPodCidr(cidr);
      return {};
    },
    runtimeConfig: async () => ({
      linux: { cgroupDriver: daemon().cgroupDriver === 'systemd' ? 'SYSTEMD' : 'CGROUPFS' },
    }),
  };
}
