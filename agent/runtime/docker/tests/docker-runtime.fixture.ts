/** A runtime on a private dockerd, with the connection of an agent. */
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { CriConnection } from '#cri/client/connection.ts';
import { startTestDockerd, type TestDockerd } from '../../../../testing/dockerd.ts';
import { connectDocker } from '../connect.ts';
import { dockerNetworks, type PodNetworks } from '../network/pod-networks.ts';
import { createDockerRuntime } from '../runtime.ts';

export interface RuntimeOnDocker extends AsyncDisposable {
  readonly cri: CriConnection;
}

export interface RuntimeOnDockerOptions {
  readonly node?: string;
  readonly networks?: PodNetworks;
}

/** Connects as the agent of a node; on the same state directory if called again. */
export async function connectTo(
  dockerd: TestDockerd,
  { node = 'node-1', networks = dockerNetworks() }: RuntimeOnDockerOptions = {},
): Promise<RuntimeOnDocker> {
  const runtime = createDockerRuntime({
    clock: systemClock,
    log: silentLogger,
    socketPath: dockerd.socketPath,
    node,
    stateDir: `${dockerd.folder}/state-${node}`,
    sandboxImage: 'local/pause:1',
    networks,
    pullProgressDeadlineMs: 60_000,
    lowestOomScore: 0,
  });
  const { connection, ended } = connectDocker(runtime, { endpoint: dockerd.socketPath, log: silentLogger });
  await connection.whenConnected(AbortSignal.timeout(30_000));
  return {
    cri: connection,
    async [Symbol.asyncDispose]() {
      connection.close();
      await ended;
    },
  };
}

export { startTestDockerd };
