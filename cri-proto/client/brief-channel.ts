/** A channel that is open only while a call is under way: plugins come and go, and are called seldom. */
import { type GrpcChannel, openChannel } from './channel.ts';

export type BriefChannel = Pick<GrpcChannel, 'unary' | 'stream'>;

/** Calls of the same time share a connection. @param open in tests: gives the channel */
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
