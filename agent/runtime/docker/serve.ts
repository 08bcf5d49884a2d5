/** Docker as a CRI server on a socket, for any client. */
import type { Logger } from '#api/kit/logger.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import { serveSocket } from '#cri/server/serve-socket.ts';
import type { ServedMethod, ServedService } from '#cri/server/served-service.ts';
import type { DockerRuntime } from './runtime.ts';

/** Methods that respond while docker is stopped. */
const ALWAYS: ReadonlySet<string> = new Set(['status']);

/** Rejects calls while docker is not connected: the records may be outdated then. */
function whileConnected(service: ServedService, state: DockerRuntime['state']): ServedService {
  const gate =
    (name: string, method: ServedMethod): ServedMethod =>
    (request) => {
      if (state() === 'connected' || ALWAYS.has(name)) return method(request);
      throw new CallRejection('Unavailable', 'docker is not connected');
    };
  const methods = Object.entries(service.methods).map(
    ([name, method]) => [name, gate(name, method)] as const,
  );
  return { ...service, methods: Object.fromEntries(methods) };
}

/** Serves until the signal fires. @throws SocketInUseError */
export async function serveDocker(
  runtime: DockerRuntime,
  { log, socket }: { readonly log: Logger; readonly socket: string },
  signal: AbortSignal,
): Promise<void> {
  const services = runtime.services.map((service) => whileConnected(service, () => runtime.state()));
  const server = await serveSocket({ log, load: () => Promise.resolve(services) }, socket);
  log.info({ socket }, 'Serving docker as a container runtime');
  await runtime.run(signal);
  await server.close();
}
