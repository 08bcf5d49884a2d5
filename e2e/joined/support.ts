/** What the tests of joined nodes share: an API server that can be stopped and come back at the same address, an agent
 *  that works for it on the run's containerd, and both in a few words. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { request } from 'undici';
import { expect, inject } from 'vitest';
import { formatPlatconfig } from '#agent/certs/platconfig.ts';
import { asError } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { startTestPlane, type TestPlane } from '#plane/testing/test-plane.ts';
import { TestAgent } from '../../testing/agent.ts';
import { freePort } from '../../testing/free-port.ts';
import { createPodRecorder, type PodRecorder } from '../../testing/pod-recorder.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

export const NODE = 'n1';
export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';

/** The image that all containers have, under another name. */
export const OTHER_IMAGE = 'local/busybox:joined';

/** Gives the image its other name, unless it has it already, and waits until the runtime knows it. It is never taken
 *  away meanwhile: the runtime has other tests beside this one. */
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

/** By which the agent is no more than its node. */
const TOKEN = 'node-token';

export interface Joined extends AsyncDisposable {
  readonly plane: TestPlane;
  readonly agent: TestAgent;
  readonly cri: CriConnection;
  /** Creates a pod for this node. @throws Error when the server refuses it */
  run(name: string, spec: object, metadata?: object): Promise<Pod>;
  /** The pod as the server has it. */
  onServer(name: string): Promise<Pod | undefined>;
  /** Waits for what the server has of a pod. */
  shows(name: string, condition: (pod: Pod) => boolean): Promise<Pod>;
  /** Waits until the server has no such pod. */
  isGone(name: string): Promise<void>;
  /** Asks for the end of a pod with the grace period that it has. */
  remove(name: string, options?: object): Promise<void>;
  patch(path: string, body: object, type?: string): Promise<void>;
}

/** Flags of the agent, or what makes them of its API server. */
type Flags = readonly string[] | ((plane: TestPlane) => readonly string[]);

/** Where the agent finds its server. */
export interface Way extends Partial<AsyncDisposable> {
  readonly url: string;
  readonly authority: string;
}

/** @param through gives what stands between the agent and the server, and ends with them
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
    const answer = await plane.get(`${pods}/${name}`);
    // oxlint-disable-next-line typescript/no-unsafe-return -- what the server says is what is tested
    return answer.status === 200 ? answer.json : undefined;
  }

  const watching = watchPods(plane);
  return {
    plane,
    agent,
    cri,
    async run(name, spec, metadata = {}) {
      const answer = await plane.post(pods, {
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
      if (answer.status !== 201) throw new Error(`pod ${name}: ${answer.status} ${answer.text}`);
      // oxlint-disable-next-line typescript/no-unsafe-return -- what the server says is what is tested
      return answer.json;
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
      // A test that failed may have left the server stopped; what it started is to end all the same.
      await plane.call('DELETE', pods, { body: { gracePeriodSeconds: 0 } }).catch(() => undefined);
      await agent[Symbol.asyncDispose]();
      await watching.end();
      await way[Symbol.asyncDispose]?.();
      await plane[Symbol.asyncDispose]();
      expect(watching.recorder.faults(), 'statuses of pods that a watcher saw').toEqual([]);
    },
  };
}

interface Watching {
  readonly recorder: PodRecorder;
  end(): Promise<void>;
}

/** Follows all pods of the server as long as the test goes on, over its restarts, and checks what is shown of them. */
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
