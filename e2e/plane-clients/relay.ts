/** TCP relay to the server that can be interrupted, at a stable address while the server moves. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relay extends AsyncDisposable {
  readonly url: string;
  /** Closes all connections; new ones are accepted unless it is closed. */
  cut(): void;
  /** Ends all connections and takes no new ones until it is opened. */
  close(): void;
  open(): void;
}

/** `target`: returns the server's address, called for each connection. */
export async function startRelay(target: () => URL): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((near) => {
    if (!isOpen) {
      near.destroy();
      return;
    }
    const far = connect(Number(target().port), target().hostname);
    const end = (): void => {
      near.destroy();
      far.destroy();
      sockets.delete(near);
    };
    sockets.add(near);
    for (const socket of [near, far]) socket.on('error', end).on('close', end);
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on TCP
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${port}`,
    cut,
    close() {
      isOpen = false;
      cut();
    },
    open() {
      isOpen = true;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
