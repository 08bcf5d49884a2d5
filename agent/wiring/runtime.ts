/** Wires the runtime connection and the observed runtime state. */
import { join } from 'node:path';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { watchRuntimeEvents } from '#cri/client/events.ts';
import type { ObserveCall } from '#cri/client/service.ts';
import { createLogLinks, type LogLinks } from '../logs/links.ts';
import { createObserver, type Observer } from '../observe/observer.ts';
import { createCriReader, createStatusReader } from '../observe/read.ts';
import { RuntimeView } from '../observe/runtime-view.ts';
import { createTerminationMessages } from '../observe/termination-message.ts';
import { createPodFiles, type PodFiles } from '../pods/pod-files.ts';
import { withCallWaits, withImageWaits } from '../runtime/call-waits.ts';
import { createConnectionHolder } from '../runtime/connection-holder.ts';
import { detectEndpoint } from '../runtime/detect-endpoint.ts';
import { createRuntimeIdentity, type RuntimeIdentity } from '../runtime/identity.ts';
import { createLostSandboxes, type LostSandboxes } from '../runtime/lost-sandboxes.ts';
import { followConnection } from '../runtime/runtime-wait.ts';
import type { Base } from './base.ts';

/** The runtime connection and the observed runtime state. */
export interface RuntimeSubsystem {
  readonly connection: CriConnection;
  /** The same connection unless the image service has its own endpoint. */
  readonly imageConnection: CriConnection;
  readonly identity: RuntimeIdentity;
  readonly view: RuntimeView;
  readonly observer: Observer;
  readonly files: PodFiles;
  readonly links: LogLinks;
  /** Sandboxes of earlier agents. */
  readonly lost: LostSandboxes;
}

export async function createRuntimeSubsystem(base: Base): Promise<RuntimeSubsystem> {
  const { config, log } = base;
  if (config.containerRuntime === 'docker') return createDockerSubsystem(base);
  const endpoint = await detectEndpoint(config.containerRuntimeEndpoint);
  const imageEndpoint = config.imageServiceEndpoint || endpoint;
  const requestTimeoutMs = config.runtimeRequestTimeout;
  const hold = createConnectionHolder(log);
  const observe = observeCalls(base);
  const opened = connectRuntime({ endpoint, log, requestTimeoutMs, hold, observe });
  const connection = watched(base, opened);
  const imageConnection =
    imageEndpoint === endpoint
      ? connection
      : watched(base, connectRuntime({ endpoint: imageEndpoint, log, requestTimeoutMs, observe }));
  followConnection(base.waits, connection);
  if (imageConnection !== connection) followConnection(base.waits, imageConnection, 'image service');
  return createRuntimeParts(base, connection, imageConnection);
}

/** Measures the calls to the runtime. */
const observeCalls =
  ({ clock, runtimeMetrics }: Base): ObserveCall =>
  (rpc) => {
    const beganMs = clock.monotonic();
    return (error) => runtimeMetrics.called(rpc, clock.monotonic() - beganMs, error);
  };

/** The connection with its calls among the waits of the agent. */
const watched = ({ waits }: Base, made: CriConnection): CriConnection => ({
  ...made,
  runtime: withCallWaits(made.runtime, waits),
  images: withImageWaits(made.images, waits),
});

/** Docker inside this process. */
async function createDockerSubsystem(base: Base): Promise<RuntimeSubsystem> {
  const { config, clock, log, settings } = base;
  const [{ openDocker }, { connectDocker }] = await Promise.all([
    import('../runtime/docker/open.ts'),
    import('../runtime/docker/connect.ts'),
  ]);
  const runtime = await openDocker({ clock, log, node: settings.owner.instance }, config);
  const options = { endpoint: config.dockerEndpoint, log, requestTimeoutMs: config.runtimeRequestTimeout };
  const connection = watched(base, connectDocker(runtime, options).connection);
  followConnection(base.waits, connection);
  return createRuntimeParts(base, connection, connection);
}

/** @param imageConnection the same connection unless the image service has its own endpoint */
export function createRuntimeParts(
  { config, vocabulary, clock, log, settings, runtimeMetrics }: Base,
  connection: CriConnection,
  imageConnection: CriConnection,
): RuntimeSubsystem {
  const view = new RuntimeView();
  const { podLogsDir, clusterDomain } = config;
  const files = createPodFiles({ podsDir: join(config.rootDir, 'pods'), clusterDomain, vocabulary });
  const terminationMessage = createTerminationMessages({ view, podLogsDir, files, log });
  const read = createCriReader(settings.owner);
  const { runtime } = connection;
  const statuses = createStatusReader({ runtime, read, terminationMessage });
  const events = (signal: AbortSignal) => watchRuntimeEvents(connection, { clock, log, signal });
  const observer = createObserver({
    runtime,
    read,
    statuses,
    view,
    clock,
    log,
    events,
    relisted: (durationMs, sinceLastMs) => runtimeMetrics.relisted(durationMs, sinceLastMs, clock.now()),
  });
  const identity = createRuntimeIdentity(runtime);
  const links = createLogLinks({ log }, config.containerLogsDir);
  const lost = createLostSandboxes({ runtime, owner: settings.owner, log });
  return { connection, imageConnection, identity, view, observer, files, links, lost };
}
