/** TCP probe: a successful connection is success. */
import { connect } from 'node:net';
import type { ProbeResult } from './probe-types.ts';

export function probeTcp(
  { host, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const finish = (settle: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      settle();
    };
    function onAbort(): void {
      const reason: unknown = signal.reason;
      finish(() => reject(reason instanceof Error ? reason : new Error(`connecting to ${host} was aborted`)));
    }
    socket.once('connect', () => finish(() => resolve({ outcome: 'success', output: '' })));
    socket.on('error', (error) => finish(() => resolve({ outcome: 'failure', output: error.message })));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
