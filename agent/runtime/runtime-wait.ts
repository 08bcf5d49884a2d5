/** Wait for the container runtime, with its reason: until the first connection, and whenever it is
 *  unavailable. */

import { stat } from 'node:fs/promises';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Wait, Waits } from '#api/kit/waits.ts';
import type { CriConnection } from '#cri/client/connection.ts';
import { parseEndpoint } from '#cri/client/endpoint.ts';

/** Name of the wait, followed by the endpoint. */
export const RUNTIME_WAIT = 'container runtime';

/** Returns why no server responds at a socket. Never rejects. */
async function socketError(path: string): Promise<string> {
  try {
    const there = await stat(path);
    return there.isSocket() ? 'no server responds on the socket' : 'the path is not a socket';
  } catch (thrown) {
    const error = asError(thrown);
    return hasCode(error, 'ENOENT') ? 'the socket does not exist' : error.message;
  }
}

/** Follows a connection for as long as it is open. The reason is determined when the wait begins. */
export function followConnection(
  waits: Waits,
  connection: Pick<CriConnection, 'endpoint' | 'state' | 'onStateChange'>,
  what: string = RUNTIME_WAIT,
): void {
  let wait: Wait | undefined;
  const begin = (): void => {
    const pending = waits.begin(`${what} ${connection.endpoint}`);
    wait = pending;
    void socketError(parseEndpoint(connection.endpoint)).then((reason) => pending.because(reason));
  };
  const onState = (state: ReturnType<CriConnection['state']>): void => {
    if (state === 'away') return begin();
    wait?.end();
    wait = undefined;
  };
  connection.onStateChange(onState);
  if (connection.state() === 'away') begin();
}
