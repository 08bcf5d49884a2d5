/** The requests to docker that the runtime needs, as typed functions. Bounds how many containers are created,
 *  started and removed at the same time: docker itself does not, and becomes slower with each further one. */
import type { Duplex, Readable } from 'node:stream';
import { createLimiter } from '#api/kit/limiter.ts';
import type { DockerEngine } from './engine.ts';
import { isMissing } from './errors.ts';
import { readLines } from './lines.ts';
import {
  type DockerEvent,
  type DockerImage,
  type DockerInfo,
  type ExecState,
  type InspectedContainer,
  type ListedContainer,
  parseApiVersion,
  parseEvent,
  parseExec,
  parseId,
  parseImage,
  parseImages,
  parseInfo,
  parseInspected,
  parseList,
} from './parse.ts';

/** Filters of lists and events: values of one key are alternatives, except of labels. */
export type DockerFilters = Readonly<Record<string, readonly string[]>>;

export interface ExecSpec {
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface AttachSpec {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

export interface PullSpec {
  readonly repository: string;
  /** A tag or a digest. */
  readonly tag: string;
  readonly registryAuth: string | undefined;
  readonly signal: AbortSignal;
}

export interface TerminalDimensions {
  readonly width: number;
  readonly height: number;
}

/** All throw DockerError. */
export interface DockerClient {
  info(): Promise<DockerInfo>;
  /** Latest version of the API that docker serves. */
  apiVersion(): Promise<string>;
  list(filters: DockerFilters): Promise<readonly ListedContainer[]>;
  inspect(id: string, options?: { readonly withSize: boolean }): Promise<InspectedContainer>;
  /** Returns the ID. */
  create(name: string, body: object): Promise<string>;
  start(id: string): Promise<void>;
  /** Sends the stop signal, and kills after `seconds`. */
  stop(id: string, seconds: number): Promise<void>;
  /** Succeeds for a container that does not run. */
  kill(id: string): Promise<void>;
  /** Kills it if necessary; succeeds if it does not exist. */
  remove(id: string): Promise<void>;
  update(id: string, body: object): Promise<void>;
  resize(id: string, size: TerminalDimensions): Promise<void>;
  attach(id: string, spec: AttachSpec): Promise<Duplex>;
  createExec(id: string, spec: ExecSpec): Promise<string>;
  startExec(execId: string, tty: boolean): Promise<Duplex>;
  inspectExec(execId: string): Promise<ExecState>;
  resizeExec(execId: string, size: TerminalDimensions): Promise<void>;
  images(): Promise<readonly DockerImage[]>;
  /** Undefined if it is not present. */
  image(name: string): Promise<DockerImage | undefined>;
  /** Streams the progress of a pull as JSON lines. */
  pull(spec: PullSpec): Promise<Readable>;
  /** Removes a name, or the image with its last name. Succeeds if it does not exist. */
  removeImage(name: string): Promise<void>;
  loadImage(archive: Uint8Array): Promise<void>;
  /** Iterates over events from now on; `subscribed` is called when none is missed any more. */
  events(filters: DockerFilters, subscribed: () => void, signal: AbortSignal): AsyncGenerator<DockerEvent>;
  close(): void;
}

/** Two cores start no more than that at the same time without slowing each other down. */
const MOST_CHANGES = 8;

const isGone = (thrown: unknown): undefined => {
  if (isMissing(thrown)) return undefined;
  throw thrown;
};

export function createDockerClient(engine: DockerEngine): DockerClient {
  const changes = createLimiter(MOST_CHANGES);
  const post = async (path: string, what: string, rest: object = {}): Promise<unknown> =>
    engine.call({ method: 'POST', path, what, ...rest });
  const get = async (path: string, what: string, query = {}): Promise<unknown> =>
    engine.call({ method: 'GET', path, what, query });
  const at = (id: string): string => `/containers/${encodeURIComponent(id)}`;

  return {
    info: async () => parseInfo(await get('/info', 'get info')),
    apiVersion: async () => parseApiVersion(await get('/version', 'get version')),
    list: async (filters) =>
      parseList(
        await get('/containers/json', 'list containers', { all: true, filters: JSON.stringify(filters) }),
      ),
    async inspect(id, options) {
      const query = options?.withSize === true ? { size: true } : {};
      return parseInspected(await get(`${at(id)}/json`, 'inspect container', query));
    },
    create: async (name, body) =>
      changes.run(async () =>
        parseId(await post('/containers/create', 'create container', { query: { name }, body })),
      ),
    start: async (id) => void (await changes.runUrgent(() => post(`${at(id)}/start`, 'start container'))),
    // Not limited: it waits for the container.
    stop: async (id, seconds) =>
      void (await post(`${at(id)}/stop`, 'stop container', { query: { t: seconds } })),
    async kill(id) {
      try {
        await post(`${at(id)}/kill`, 'kill container', { query: { signal: 'KILL' } });
      } catch (thrown) {
        // A conflict: it does not run.
        if (!(thrown instanceof Error && 'reason' in thrown && thrown.reason === 'AlreadyExists'))
          throw thrown;
      }
    },
    async remove(id) {
      const query = { force: true, v: true };
      const path = at(id);
      const remove = (): Promise<unknown> =>
        engine.call({ method: 'DELETE', path, what: 'remove container', query });
      await changes.run(remove).catch(isGone);
    },
    update: async (id, body) => void (await post(`${at(id)}/update`, 'update container', { body })),
    resize: async (id, { width, height }) =>
      void (await post(`${at(id)}/resize`, 'resize terminal', { query: { w: width, h: height } })),
    async attach(id, spec) {
      const query = { stream: true, ...spec };
      // Docker reads no body, but the library sends the request only with one.
      const body = spec;
      return engine.hijack({
        method: 'POST',
        path: `${at(id)}/attach`,
        what: 'attach to container',
        query,
        body,
      });
    },
    ...execRequests(engine, post, get),
    ...imageRequests(engine, get),
    async *events(filters, subscribed, signal) {
      const query = { filters: JSON.stringify(filters) };
      const stream = await engine.open({
        method: 'GET',
        path: '/events',
        what: 'follow events',
        query,
        signal,
      });
      subscribed();
      for await (const line of readLines(stream)) {
        const event = parseEvent(line);
        if (event !== undefined) yield event;
      }
    },
    close: () => engine.close(),
  };
}

type Post = (path: string, what: string, rest?: object) => Promise<unknown>;
type Get = (path: string, what: string, query?: object) => Promise<unknown>;

function execRequests(
  engine: DockerEngine,
  post: Post,
  get: Get,
): Pick<DockerClient, 'createExec' | 'startExec' | 'inspectExec' | 'resizeExec'> {
  return {
    async createExec(id, { command, stdin, stdout, stderr, tty }) {
      const body = {
        Cmd: command,
        AttachStdin: stdin,
        AttachStdout: stdout,
        AttachStderr: stderr,
        Tty: tty,
      };
      return parseId(await post(`/containers/${encodeURIComponent(id)}/exec`, 'create exec', { body }));
    },
    startExec: async (execId, tty) =>
      engine.hijack({
        method: 'POST',
        path: `/exec/${execId}/start`,
        what: 'start exec',
        body: { Detach: false, Tty: tty },
      }),
    inspectExec: async (execId) => parseExec(await get(`/exec/${execId}/json`, 'inspect exec')),
    resizeExec: async (execId, { width, height }) =>
      void (await post(`/exec/${execId}/resize`, 'resize terminal', { query: { w: width, h: height } })),
  };
}

function imageRequests(
  engine: DockerEngine,
  get: Get,
): Pick<DockerClient, 'images' | 'image' | 'pull' | 'removeImage' | 'loadImage'> {
  const at = (name: string): string => `/images/${name.split('/').map(encodeURIComponent).join('/')}`;
  return {
    images: async () => parseImages(await get('/images/json', 'list images')),
    image: async (name) => get(`${at(name)}/json`, 'inspect image').then(parseImage, isGone),
    pull: async ({ repository, tag, registryAuth, signal }) =>
      engine.open({
        method: 'POST',
        path: '/images/create',
        what: 'pull image',
        query: { fromImage: repository, tag },
        registryAuth,
        signal,
      }),
    async removeImage(name) {
      await engine.call({ method: 'DELETE', path: at(name), what: 'remove image' }).catch(isGone);
    },
    async loadImage(archive) {
      const response = await engine.upload('/images/load', 'load image', archive);
      for await (const line of readLines(response)) void line;
    },
  };
}
