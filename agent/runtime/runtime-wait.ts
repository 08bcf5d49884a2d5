/** Waits for a container runtime, with the reason: from the start until it was seen, and whenever it is away. */
import { stat } from 'node:fs/promises';
import { asError } from '#api/kit/clock.ts';
import type { Wait, Waits } from '#api/kit/waits.ts';
import type { CriConnection } from '#cri/client/connection.ts';
import { parseEndpoint } from '#cri/client/endpoint.ts';

/** Name of the wait, with the endpoint behind it. */
export const RUNTIME_WAIT = 'container runtime';

/** Why nothing answers at a socket. Never rejects. */
export async function socketFault(path: string): Promise<string> {
  try {
    const there = await stat(path);
    return there.isSocket() ? 'nothing answers on the socket' : 'the path is no socket';
  } catch (thrown) {
    const error = asError(thrown);
    return 'code' in error && error.code === 'ENOENT' ? 'there is no such socket' : error.message;
  }
}

/** Follows a connection for as long as it is open. The reason is looked up when the wait begins. */
export function followConnection(
  waits: Waits,
  connection: Pick<CriConnection, 'endpoint' | 'state' | 'onStateChange'>,
  what: string = RUNTIME_WAIT,
): void {
  let wait: Wait | undefined;
  const begin = (): void => {
    const begun = waits.begin(`${what} ${connection.endpoint}`);
    wait = begun;
    void socketFault(parseEndpoint(connection.endpoint)).then((reason) => begun.because(reason));
  };
  const onState = (state: ReturnType<CriConnection['state']>): void => {
    if (state === 'away') return begin();
    wait?.end();
    wait = undefined;
  };
  connection.onStateChange(onState);
  if (connection.state() === 'away') begin();
}
