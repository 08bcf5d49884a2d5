/** Looks at who listens at the place of an agent before anything is shown or told there: this server's certificate goes
 *  out in the handshake, which is too soon for the peer to be checked. */
import { connect } from 'node:tls';
import type { Clock } from '#api/kit/clock.ts';
import type { Target } from './agents.ts';

/** Resolves once the peer has shown the certificate that the target expects.
 *  @throws Error with what is wrong */
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
    const timer = clock.setTimer(() => socket.destroy(new Error('no connection in time')), connectTimeoutMs);
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
