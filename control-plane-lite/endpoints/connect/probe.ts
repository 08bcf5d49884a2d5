/** Probes the agent's address before any credential or request is sent to it: the client certificate goes out
 *  during the handshake, before the peer can be verified. */
import { connect } from 'node:tls';
import type { Clock } from '#api/kit/clock.ts';
import type { Target } from '../../agents/agents.ts';

/** Resolves once the peer has presented the certificate that the target expects.
 *  @throws Error with the reason */
export function probeAgent(
  { host, port, tls = {} }: Target,
  { clock, connectTimeoutMs }: { readonly clock: Clock; readonly connectTimeoutMs: number },
): Promise<void> {
  const { ca, servername, rejectUnauthorized, checkServerIdentity } = tls;
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      ...(ca === undefined ? {} : { ca }),
      ...(servername === undefined || servername === '' ? {} : { servername }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
      ...(checkServerIdentity === undefined ? {} : { checkServerIdentity }),
    });
    const timer = clock.setTimer(() => socket.destroy(new Error('connecting timed out')), connectTimeoutMs);
    socket.once('secureConnect', () => {
      resolve();
      socket.destroy();
    });
    socket.on('error', reject);
    socket.once('close', () => {
      timer.cancel();
      reject(new Error('the connection was closed'));
    });
  });
}
