/** Uses CRI v1 and falls back to v1alpha2, whose messages are the same under another path.
 *  No extra call is needed: the first one that v1 does not implement is repeated with v1alpha2.
 *  The result is valid until the connection breaks; the runtime may return with another version. */
import { isUnimplemented } from '../errors.ts';
import type { GrpcChannel } from './channel.ts';

export type CriVersion = 'v1' | 'v1alpha2';

export interface NegotiatingChannel extends Pick<GrpcChannel, 'unary' | 'stream'> {
  /** Version of the last response; undefined before the first one. */
  readonly version: () => CriVersion | undefined;
}

const V1 = '/runtime.v1.';
const V1_ALPHA2 = '/runtime.v1alpha2.';

/** Wraps `channel`: accepts paths of CRI v1 and sends those that the runtime supports. One per service. */
export function negotiateVersion(channel: GrpcChannel): NegotiatingChannel {
  let version: CriVersion | undefined;
  channel.onStateChange(() => {
    version = undefined;
  });

  async function unary(...call: Parameters<GrpcChannel['unary']>): Promise<Uint8Array> {
    const [path, request, options] = call;
    const older = path.replace(V1, V1_ALPHA2);
    if (version === 'v1alpha2') return channel.unary(older, request, options);
    try {
      const response = await channel.unary(path, request, options);
      version = 'v1';
      return response;
    } catch (thrown) {
      if (version === 'v1' || !isUnimplemented(thrown)) throw thrown;
      const response = await channel.unary(older, request, options);
      version = 'v1alpha2';
      return response;
    }
  }

  // v1alpha2 has no streaming calls.
  return { unary, stream: channel.stream, version: () => version };
}
