/** A fleet: one API server, hollow agents, and a watch of all their pods. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import type { PlaneProcess } from '../plane/server-process.ts';
import { startPlaneProcess } from '../plane/server-process.ts';
import { type Agents, startAgents } from './agents.ts';
import { createPodTracker, type PodTracker } from './pod-tracker.ts';
import { openServerView, type ServerView } from './server-view.ts';
import { createNamespace, PODS_PATH, readPodEvent } from './workload.ts';

export interface FleetSize {
  readonly agents: number;
  readonly pods: number;
  /** Of hollow agents. */
  readonly processes: number;
  /** Agents started per second. */
  readonly agentsPerSecond: number;
  /** Pods requested per second. */
  readonly podsPerSecond: number;
}

export interface FleetOptions {
  readonly size: FleetSize;
  /** Working directory. */
  readonly dir: string;
  /** Program of the API server for Node. */
  readonly program: string;
  readonly say: (line: string) => void;
}

export interface Fleet {
  readonly size: FleetSize;
  readonly plane: PlaneProcess;
  readonly server: ServerView;
  readonly agents: Agents;
  readonly pods: PodTracker;
  /** Returns the number of ready nodes. */
  readyNodes(): number;
  readonly say: (line: string) => void;
}

const NODES_PATH = '/api/v1/nodes';

/** Bootstrap tokens for the agents. */
const SERVER_FLAGS = ['--enable-bootstrap-token-auth'];

async function bootstrapFile(plane: PlaneProcess, { dir, program }: FleetOptions): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    program,
    'token',
    'create',
    '--data-dir',
    join(dir, 'plane'),
  ]);
  const token = /--token (\S+)/.exec(stdout)?.[1];
  if (token === undefined) throw new Error(`the server created no token: ${stdout}`);
  const path = join(dir, 'bootstrap');
  const { ca, port } = plane.target;
  const server = `https://localhost:${port}`;
  await writeFile(path, formatPlatconfig({ server, tls: { authority: ca, insecure: false } }, { token }));
  return path;
}

/** Counts ready nodes from a watch. */
function followNodes(
  server: ServerView,
  signal: AbortSignal,
): { readonly count: () => number; readonly done: Promise<void> } {
  const ready = new Set<string>();
  const done = server.watch(
    `${NODES_PATH}?watch=1`,
    (event) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server under measurement wrote it
      const { type, object } = event as NodeEvent;
      const is = object.status?.conditions?.some(
        ({ type: name, status }) => name === 'Ready' && status === 'True',
      );
      if (type !== 'DELETED' && is === true) ready.add(object.metadata.name);
      else ready.delete(object.metadata.name);
    },
    signal,
  );
  return { count: () => ready.size, done };
}

interface NodeEvent {
  readonly type: string;
  readonly object: {
    readonly metadata: { readonly name: string };
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  };
}

/** Starts the server and the agents, and returns while the agents are starting. Disposing of the stack
 *  stops everything. */
export async function startFleet(options: FleetOptions, stack: AsyncDisposableStack): Promise<Fleet> {
  const { size, dir, program, say } = options;
  say('starting the API server');
  const plane = stack.use(
    await startPlaneProcess({ program, dataDir: join(dir, 'plane'), flags: SERVER_FLAGS }),
  );
  const server = stack.use(openServerView(plane.target));
  await untilTrue(() => server.ready(), 20_000, 'ready');
  await createNamespace(server);
  const bootstrapConfig = await bootstrapFile(plane, options);
  const watching = new AbortController();
  const pods = createPodTracker();
  const nodes = followNodes(server, watching.signal);
  const followed = server.watch(
    `${PODS_PATH}?watch=1`,
    (event) => pods.take(readPodEvent(event), performance.now()),
    watching.signal,
  );
  stack.defer(async () => {
    watching.abort();
    await Promise.all([nodes.done, followed]);
  });
  const agentsDir = join(dir, 'agents');
  await mkdir(agentsDir);
  const names = Array.from({ length: size.agents }, (_, index) => `node-${index}`);
  const { processes, agentsPerSecond: perSecond } = size;
  say(`starting ${size.agents} agents`);
  const agents = stack.use(startAgents({ dir: agentsDir, bootstrapConfig, names, processes, perSecond }));
  return { size, plane, server, agents, pods, readyNodes: nodes.count, say };
}

const POLL_MS = 20;

/** Polls a condition. @throws Error with `what` on timeout */
export async function untilTrue(
  isTrue: () => boolean | Promise<boolean>,
  withinMs: number,
  what: string,
): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`timed out after ${withinMs / 1000} s: ${what}`);
    await wait(POLL_MS);
  }
}
