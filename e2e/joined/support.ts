/** Fixture of the tests of joined nodes: an API server that can be stopped and restarted at the same address,
 *  and an agent that joined it on the run's containerd. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { request } from 'undici';
import { expect, inject } from 'vitest';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { startTestPlane, type TestPlane } from '#plane/main.fixture.ts';
import { TestAgent } from '../../testing/agent.ts';
import { freePort } from '../../testing/free-port.ts';
import { createPodRecorder, type PodRecorder } from '../../testing/pod-recorder.ts';
import { useShared } from '../../testing/shared.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

export const NODE = 'n1';
export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';

/** Another name of the image of all containers. */
export const OTHER_IMAGE = 'local/busybox:joined';

/** Tags the image with its other name, unless it has it already, and waits until the runtime knows it. The
 *  tag is never removed: other tests share the runtime. */
async function nameImage(endpoint: string, cri: CriConnection): Promise<void> {
  const names = ['docker.io/local/busybox:1', `docker.io/${OTHER_IMAGE}`];
  const at = ['--address', endpoint.replace('unix://', ''), '--namespace', CONTAINERD_CRI_NAMESPACE];
  await promisify(execFile)('ctr', [...at, 'images', 'tag', ...names]).catch((thrown: unknown) => {
    if (!asError(thrown).message.includes('already exists')) throw thrown;
  });
  await eventually(async () => {
    const { image } = await cri.images.imageStatus({ image: { image: OTHER_IMAGE } });
    return image !== undefined;
  });
}

/** Token that authenticates the agent only as its node. */
const TOKEN = 'node-token';

export interface Joined extends AsyncDisposable {
  readonly plane: TestPlane;
  readonly agent: TestAgent;
  readonly cri: CriConnection;
  /** Creates a pod for this node. @throws Error if the server rejects it */
  run(name: string, spec: object, metadata?: object): Promise<Pod>;
  /** Returns the pod from the server. */
  onServer(name: string): Promise<Pod | undefined>;
  /** Waits until the pod on the server fulfills the condition. */
  shows(name: string, condition: (pod: Pod) => boolean): Promise<Pod>;
  /** Waits until the pod is deleted from the server. */
  isGone(name: string): Promise<void>;
  /** Deletes a pod with its own grace period. */
  remove(name: string, options?: object): Promise<void>;
  patch(path: string, body: object, type?: string): Promise<void>;
}

/** Flags of the agent, or a function of its API server that returns them. */
type Flags = readonly string[] | ((plane: TestPlane) => readonly string[]);

/** Address of the server for the agent. */
export interface Way extends Partial<AsyncDisposable> {
  readonly url: string;
  readonly authority: string;
}

/** Starts an API server and an agent that joined it.
 *  @param through creates a proxy between the agent and the server, which is disposed with them
 *  @param env added to the agent's environment */
export async function startJoined(
  flags: Flags = [],
  through: (plane: TestPlane) => Promise<Way> = (plane) =>
    Promise.resolve({ url: plane.url, authority: plane.credentials().ca }),
  env: Readonly<Record<string, string>> = {},
): Promise<Joined> {
  const port = await freePort();
  const endpoint = inject('criEndpoint');
  const folder = await createTempDir('na-agent-');
  const tokens = join(folder.path, 'tokens');
  await writeFile(tokens, `${TOKEN},system:node:${NODE},,"system:nodes"\n`);
  const plane = await startTestPlane([`--secure-port=${port}`, `--token-auth-file=${tokens}`]);
  const platconfig = join(folder.path, 'platconfig');
  const way = await through(plane);
  const tls = { authority: way.authority, insecure: false };
  await writeFile(platconfig, formatPlatconfig({ server: way.url, tls }, { token: TOKEN }));
  const agentFlags = [
    `--platconfig=${platconfig}`,
    `--cert-dir=${folder.path}/pki`,
    `--port=${await freePort()}`,
    '--plat-api-qps=200',
    '--plat-api-burst=400',
  ];
  const more = typeof flags === 'function' ? flags(plane) : flags;
  const agent = await TestAgent.create({ endpoint, folder, flags: [...agentFlags, ...more], env });
  const cri = connectRuntime({ endpoint, log: silentLogger });
  await cri.whenConnected();
  await nameImage(endpoint, cri);
  const pods = '/api/v1/namespaces/default/pods';

  async function onServer(name: string): Promise<Pod | undefined> {
    const response = await plane.get(`${pods}/${name}`);
    // oxlint-disable-next-line typescript/no-unsafe-return -- what the server says is what is tested
    return response.status === 200 ? response.json : undefined;
  }

  const watching = watchPods(plane);
  return {
    plane,
    agent,
    cri,
    async run(name, spec, metadata = {}) {
      const response = await plane.post(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, ...metadata },
        spec: {
          nodeName: NODE,
          hostNetwork: true,
          terminationGracePeriodSeconds: 0,
          automountServiceAccountToken: false,
          ...spec,
        },
      });
      if (response.status !== 201) throw new Error(`pod ${name}: ${response.status} ${response.text}`);
      // oxlint-disable-next-line typescript/no-unsafe-return -- what the server says is what is tested
      return response.json;
    },
    onServer,
    shows: (name, condition) =>
      eventually(
        async () => {
          const pod = await onServer(name);
          if (pod !== undefined && condition(pod)) return pod;
          throw new Error(`it is ${JSON.stringify(pod)}`);
        },
        { timeoutMs: 30_000, what: `pod ${name} on the server: ${condition.toString().slice(0, 120)}` },
      ),
    async isGone(name) {
      await eventually(async () => (await plane.get(`${pods}/${name}`)).status === 404, {
        timeoutMs: 30_000,
        what: `pod ${name} is gone`,
      });
    },
    async remove(name, options = {}) {
      await plane.call('DELETE', `${pods}/${name}`, { body: options });
    },
    async patch(path, body, type = MERGE) {
      const { status, text } = await plane.call('PATCH', path, { body, contentType: type });
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    },
    async [Symbol.asyncDispose]() {
      cri.close();
      // A failed test may have left the server stopped; everything else must be stopped all the same.
      await plane.call('DELETE', pods, { body: { gracePeriodSeconds: 0 } }).catch(() => undefined);
      await agent[Symbol.asyncDispose]();
      await watching.end();
      await way[Symbol.asyncDispose]?.();
      await plane[Symbol.asyncDispose]();
      expect(watching.recorder.errors(), 'statuses of pods that a watcher saw').toEqual([]);
    },
  };
}

/** Returns the agent and server of a file (or of a `describe`): started before its tests, stopped after them. */
export function useJoined(flags: Flags = []): Omit<Joined, typeof Symbol.asyncDispose> {
  const joined = useShared(() => startJoined(flags));
  return {
    get plane() {
      return joined().plane;
    },
    get agent() {
      return joined().agent;
    },
    get cri() {
      return joined().cri;
    },
    run: (...args) => joined().run(...args),
    onServer: (name) => joined().onServer(name),
    shows: (...args) => joined().shows(...args),
    isGone: (name) => joined().isGone(name),
    remove: (...args) => joined().remove(...args),
    patch: (...args) => joined().patch(...args),
  };
}

interface Watching {
  readonly recorder: PodRecorder;
  end(): Promise<void>;
}

/** Watches all pods of the server during the test, across restarts, and verifies their statuses. */
function watchPods(plane: TestPlane): Watching {
  const recorder = createPodRecorder();
  const stop = new AbortController();
  const { signal } = stop;

  async function follow(): Promise<void> {
    const { body } = await request(`${plane.url}/api/v1/pods?watch=true`, {
      dispatcher: plane.agent,
      signal,
    });
    for await (const line of createInterface({ input: body })) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the server says is what is tested
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: Pod };
      if (['ADDED', 'MODIFIED', 'DELETED'].includes(type)) recorder.see(type, object);
    }
  }

  const following = (async () => {
    while (!signal.aborted) {
      await follow().catch(() => undefined);
      await pause(100, undefined, { signal }).catch(() => undefined);
    }
  })();
  return {
    recorder,
    async end() {
      stop.abort();
      await following;
    },
  };
}
