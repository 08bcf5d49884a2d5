/** A channel whose calls go on when this process is killed: a runtime calls off what it does for a peer that went
 *  away, and one that was stopped half-way through the start of a container may say that the container failed, or
 *  lose its process (seen with containerd 1.6). So some other process holds the connection open as well. */
import type { Socket } from 'node:net';
import { methodOfPath } from './call.ts';
import { type GrpcChannel, openChannel } from './channel.ts';
import { observedCredentials } from './observed-credentials.ts';

/** Some process beside this one that has the connection too. */
export interface ConnectionHolder {
  /** Told before the first call begins, and after the last one of those under way has ended. If this process dies
   *  while calls are under way, the holder keeps the connection until they had time to end. */
  readonly underWay: (some: boolean) => void;
  /** Lets go of the connection at once. */
  readonly release: () => void;
}

/** Starts a holder of the connection with this file descriptor. */
export type HoldConnection = (fd: number) => ConnectionHolder;

/** Calls that must not be cut off. They take no signals: what was begun is always brought to its end. */
const LASTING: ReadonlySet<string> = new Set([
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'CreateContainer',
  'StartContainer',
  'RemoveContainer',
  'ExecSync',
]);

/** `plain`, but the calls that change what there is go over a connection of their own that is held. */
export function openLastingChannel(socketPath: string, hold: HoldConnection): GrpcChannel {
  const plain = openChannel(socketPath);
  const holders = new Map<Socket, ConnectionHolder>();
  let calls = 0;
  let closed = false;
  const lasting = openChannel(socketPath, {
    cancelOnClose: false,
    credentials: observedCredentials((socket) => {
      const fd = descriptorOf(socket);
      if (fd === undefined) return;
      const holder = hold(fd);
      if (calls > 0) holder.underWay(true);
      holders.set(socket, holder);
      socket.once('close', () => {
        if (!closed) holder.release();
        holders.delete(socket);
      });
    }),
  });

  function count(change: 1 | -1): void {
    calls += change;
    if (calls === 0 || (calls === 1 && change === 1))
      for (const holder of holders.values()) holder.underWay(calls > 0);
  }

  async function unary(...call: Parameters<GrpcChannel['unary']>): Promise<Uint8Array> {
    if (!LASTING.has(methodOfPath(call[0]))) return plain.unary(...call);
    count(1);
    try {
      return await lasting.unary(...call);
    } finally {
      count(-1);
    }
  }

  const state = () => (plain.state() === 'connected' ? lasting.state() : 'away');
  return {
    unary,
    stream: plain.stream,
    state,
    onStateChange(listener) {
      let last = state();
      const onChange = (): void => {
        const next = state();
        if (next === last) return;
        last = next;
        listener(next);
      };
      const stops = [plain.onStateChange(onChange), lasting.onStateChange(onChange)];
      return () => stops.forEach((stop) => stop());
    },
    close() {
      closed = true;
      plain.close();
      lasting.close();
      for (const [socket, holder] of holders) {
        if (calls === 0) holder.release();
        // Without a word to the runtime: the holder has the connection still, until this process is gone and the
        // calls under way had their time.
        else socket.destroy();
      }
    },
  };
}

/** The descriptor is part of no public interface of Node, which needs it to hand a socket to a child process. */
function descriptorOf(socket: Socket): number | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
