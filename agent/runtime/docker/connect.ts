/** Docker as a runtime connection inside this process. */
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type CriConnection, connectOver } from '#cri/client/connection.ts';
import criV1 from '#cri/data/cri-v1.json' with { type: 'json' };
import { createLocalChannel } from '#cri/server/local-channel.ts';
import type { DockerRuntime } from './runtime.ts';

export interface ConnectDockerOptions {
  /** Name of the runtime in logs, such as its socket. */
  readonly endpoint: string;
  readonly log: Logger;
  readonly requestTimeoutMs?: number;
}

export interface DockerConnection {
  readonly connection: CriConnection;
  /** Resolves after `close` of the connection, when everything is released. */
  readonly ended: Promise<void>;
}

/** Starts following docker; closing the connection stops it. */
export function connectDocker(runtime: DockerRuntime, options: ConnectDockerOptions): DockerConnection {
  const stop = new AbortController();
  const channel = createLocalChannel(runtime.services, runtime, () =>
    stop.abort(new Error('runtime closed')),
  );
  const connection = connectOver(channel, createMessageTypes(criV1), options);
  return { connection, ended: runtime.run(stop.signal) };
}
