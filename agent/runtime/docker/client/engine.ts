/** Connection to the API of docker: keep-alive connections on its socket, and one function per form of request.
 *  Loads the client library on demand. Knows no endpoints. */
import { Agent } from 'node:http';
import { Duplex, type Readable } from 'node:stream';
import { inspect } from 'node:util';
import { abortable } from './abortable.ts';
import { DockerError, toDockerError } from './errors.ts';

type Query = Readonly<Record<string, string | number | boolean>>;

export interface EngineRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `/containers/json`. */
  readonly path: string;
  /** Name of the request in errors: `start container`. */
  readonly what: string;
  readonly query?: Query | undefined;
  readonly body?: object | undefined;
  /** Encoded login of a registry. */
  readonly registryAuth?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface DockerEngine {
  /** Resolves with the parsed response; a Buffer if it is not JSON. @throws DockerError */
  call(request: EngineRequest): Promise<unknown>;
  /** Resolves with the body of the response once its header has arrived. @throws DockerError */
  open(request: EngineRequest): Promise<Readable>;
  /** Resolves with a raw connection to a process. @throws DockerError */
  hijack(request: EngineRequest): Promise<Duplex>;
  /** Sends a tar archive, and resolves with the body of the response. @throws DockerError */
  upload(path: string, what: string, archive: Uint8Array): Promise<Readable>;
  /** Closes all connections. */
  close(): void;
}

/** Idle connections that stay open. */
const IDLE_CONNECTIONS = 8;

const ACCEPTED = { 101: true, 200: true, 201: true, 204: true, 304: true } as const;

/** The library formats its options for each request, even if nothing prints them: an agent with all its sockets
 *  would take milliseconds. */
class KeepAliveAgent extends Agent {
  [inspect.custom](): string {
    return 'KeepAliveAgent';
  }
}

interface Dial {
  readonly path: string;
  readonly method: string;
  readonly options: { readonly _query: Query; readonly _body: object };
  readonly statusCodes: Record<number, boolean>;
  readonly isStream?: boolean;
  readonly hijack?: boolean;
  readonly openStdin?: boolean;
  readonly file?: Buffer;
  readonly authconfig?: { readonly base64: string };
  readonly abortSignal?: AbortSignal;
}

interface Modem {
  dial(options: Dial, callback: (error: Error | null, result: unknown) => void): void;
}

const isReadable = (value: unknown): value is Readable =>
  typeof value === 'object' && value !== null && 'pipe' in value && 'read' in value;

function dialOf(request: EngineRequest, extra: Partial<Dial>): Dial {
  const { method, path, query = {}, body = {}, registryAuth, signal } = request;
  return {
    path: Object.keys(query).length === 0 ? path : `${path}?`,
    method,
    options: { _query: query, _body: body },
    statusCodes: { ...ACCEPTED },
    ...(registryAuth === undefined ? {} : { authconfig: { base64: registryAuth } }),
    ...(signal === undefined ? {} : { abortSignal: signal }),
    ...extra,
  };
}

async function openModem(socketPath: string, agent: Agent): Promise<Modem> {
  const { default: Docker } = await import('dockerode');
  const options = { socketPath, agent };
  const modem: Modem = new Docker(options).modem;
  return modem;
}

/** Returns immediately; connects with the first request. */
export function openEngine(socketPath: string): DockerEngine {
  const agent = new KeepAliveAgent({ keepAlive: true, maxFreeSockets: IDLE_CONNECTIONS });
  let opened: Promise<Modem> | undefined;

  async function dial(request: EngineRequest, extra: Partial<Dial>): Promise<unknown> {
    const { signal, what } = request;
    signal?.throwIfAborted();
    const modem = await (opened ??= openModem(socketPath, agent));
    const result = new Promise<unknown>((resolve, reject) => {
      modem.dial(dialOf(request, extra), (error, response) => {
        if (error === null) resolve(response);
        else reject(toDockerError(error, what));
      });
    });
    return abortable(result, signal);
  }

  return {
    call: (request) => dial(request, {}),
    async open(request) {
      const stream = await dial(request, { isStream: true });
      if (isReadable(stream)) return stream;
      throw new DockerError('Unknown', `${request.what}: docker sent no stream`);
    },
    async hijack(request) {
      const stream = await dial(request, { isStream: true, hijack: true, openStdin: true });
      if (stream instanceof Duplex) return stream;
      throw new DockerError('Unknown', `${request.what}: docker opened no connection`);
    },
    async upload(path, what, archive) {
      const file = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
      const stream = await dial({ method: 'POST', path, what }, { isStream: true, file });
      if (isReadable(stream)) return stream;
      throw new DockerError('Unknown', `${what}: docker sent no stream`);
    },
    close: () => agent.destroy(),
  };
}
