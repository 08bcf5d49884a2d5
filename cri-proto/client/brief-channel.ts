/** Channel that is open only while calls are in flight: plugins come and go, and are called rarely. */
import { type GrpcChannel, openChannel } from './channel.ts';

export type BriefChannel = Pick<GrpcChannel, 'unary' | 'stream'>;

/** Concurrent calls share a connection. @param open creates the channel, for tests */
export function createBriefChannel(
  socketPath: string,
  open: (socketPath: string) => GrpcChannel = openChannel,
): BriefChannel {
  let channel: GrpcChannel | undefined;
  let users = 0;

  function take(): GrpcChannel {
    users += 1;
    channel ??= open(socketPath);
    return channel;
  }

  function leave(): void {
    users -= 1;
    if (users > 0) return;
    channel?.close();
    channel = undefined;
  }

  return {
    async unary(...call) {
      try {
        return await take().unary(...call);
      } finally {
        leave();
      }
    },
    async *stream(...call) {
      try {
        yield* take().stream(...call);
      } finally {
        leave();
      }
    },
  };
}
