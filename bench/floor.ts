/** Baseline: the same pods through bare CRI calls, with the configuration that the agent would pass. */
import { readFile } from 'node:fs/promises';
import { loadConfig } from '#agent/config/load.ts';
import { podLogDir } from '#agent/logs/paths.ts';
import { hostAddresses } from '#agent/node/node-facts.ts';
import { loadNodeSettings } from '#agent/node/node-settings.ts';
import { podIdentity } from '#agent/pod-identity/identity.ts';
import { createContainerConfig } from '#agent/runtime/config/container.ts';
import { createSandboxConfig } from '#agent/runtime/config/sandbox.ts';
import { createManifestReader } from '#agent/sources/manifest-set.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import { systemClock } from '#api/kit/clock.ts';
import type { CriConnection } from '#cri/client/connection.ts';
import type { ContainerConfig, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { podManifest } from './pod.ts';

/** Requests for one pod; built beforehand, so that only the runtime is measured. */
export interface PreparedPod {
  readonly sandbox: MessageInput<PodSandboxConfig>;
  container(attempt: number): MessageInput<ContainerConfig>;
}

/** Pods through bare calls of a runtime. */
export interface PodFloor {
  /** Builds the requests of a pod. Returns what sends them, and resolves with the sandbox's ID. */
  ready(name: string): Promise<() => Promise<string>>;
  remove(sandboxId: string): Promise<void>;
}

export interface Floor extends PodFloor {
  prepare(name: string): Promise<PreparedPod>;
  /** RunPodSandbox, CreateContainer, StartContainer. Returns the sandbox's ID. */
  run(pod: PreparedPod): Promise<string>;
  /** CreateContainer and StartContainer in an existing sandbox. */
  startContainer(pod: PreparedPod, sandboxId: string, attempt: number): Promise<void>;
}

export interface FloorOptions {
  readonly cri: CriConnection;
  readonly outDir: string;
  readonly flags: readonly string[];
}

const FLOOR_NODE = 'floor';

export async function createFloor({ cri, outDir, flags }: FloorOptions): Promise<Floor> {
  const { runtime, images } = cri;
  const loaded = await loadConfig(flags, { readFile: (path) => readFile(path), cwd: '/' });
  if (loaded.kind !== 'ok') throw new Error(`invalid flags of the baseline: ${JSON.stringify(loaded)}`);
  const { config } = loaded;
  const settings = await loadNodeSettings(config, {
    instance: 'bench-floor',
    hostIPs: await hostAddresses(config.nodeIP),
  });
  const dns = await settings.dns();
  const { vocabulary } = settings;
  const readManifests = createManifestReader({ clock: systemClock, nodeName: FLOOR_NODE, vocabulary });
  const { image } = await images.imageStatus({ image: { image: 'local/busybox:1' } });

  async function readPod(name: string): Promise<Pod> {
    const bytes = Buffer.from(podManifest(name, outDir));
    const place = { source: 'file', location: `/${name}` } as const;
    const { pods } = await readManifests(bytes, place, undefined, new AbortController().signal);
    if (pods[0] === undefined) throw new Error('the manifest of the benchmark is not a pod');
    return pods[0].pod;
  }

  async function startContainer(pod: PreparedPod, podSandboxId: string, attempt: number): Promise<void> {
    const request = { podSandboxId, config: pod.container(attempt), sandboxConfig: pod.sandbox };
    const { containerId } = await runtime.createContainer(request);
    await runtime.startContainer({ containerId });
  }

  async function prepare(name: string): Promise<PreparedPod> {
    const pod = await readPod(name);
    const { podLogsDir, resources, owner } = settings;
    const cgroupParent = config.cgroupRoot;
    const sandbox = createSandboxConfig({
      pod,
      attempt: 0,
      owner,
      logDirectory: podLogDir(podLogsDir, podIdentity(pod)),
      cgroupParent,
      dns,
      resources,
    });
    if (sandbox.kind === 'error') throw new Error(sandbox.message);
    const [container] = pod.spec?.containers ?? [];
    if (container === undefined) throw new Error('the pod has no container');
    const volume = { name: 'out', hostPath: outDir, readOnly: false, seLinuxRelabel: false };
    return {
      sandbox: sandbox.config,
      container(attempt) {
        const result = createContainerConfig({
          pod,
          container,
          kind: 'app',
          attempt,
          owner,
          image: { ref: image?.id ?? '', user: {} },
          env: new Map(),
          volumes: new Map([['out', volume]]),
          subPaths: new Map(),
          hostsFile: '/etc/hosts',
          terminationLog: undefined,
          settings: settings.container,
        });
        if (result.kind === 'error') throw new Error(result.message);
        return result.config;
      },
    };
  }

  async function run(pod: PreparedPod): Promise<string> {
    const { podSandboxId } = await runtime.runPodSandbox({ config: pod.sandbox });
    await startContainer(pod, podSandboxId, 0);
    return podSandboxId;
  }

  return {
    prepare,
    run,
    async ready(name) {
      const pod = await prepare(name);
      return () => run(pod);
    },
    startContainer,
    async remove(podSandboxId) {
      await runtime.stopPodSandbox({ podSandboxId });
      await runtime.removePodSandbox({ podSandboxId });
    },
  };
}
