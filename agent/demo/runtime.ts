/** Opens the runtime of the demo: a private containerd with the local images, docker, or another existing runtime. */
import { access } from 'node:fs/promises';
import { startManagedContainerd } from '#agent/runtime/managed/containerd.ts';
import { buildLocalImages, importImages } from '#agent/runtime/managed/images.ts';
import { PAUSE_IMAGE } from '#agent/runtime/managed/local-images.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { DemoLayout } from './layout.ts';
import { type DemoRuntime, DemoUsageError } from './options.ts';
import type { ExternalRuntime } from './record.ts';

export interface DemoRuntimeHandle {
  /** Flags of the agent. */
  readonly flags: readonly string[];
  /** What `--stop` has to know; undefined for the managed containerd. */
  readonly external: ExternalRuntime | undefined;
  /** Stops supervising the runtime; it keeps running. */
  release(): void;
}

/** Default sockets of distribution runtimes. */
const KNOWN_SOCKETS = ['/run/containerd/containerd.sock', '/run/crio/crio.sock'] as const;

/** @throws DemoUsageError when the runtime of the machine was requested and none is found */
export async function openRuntime(
  choice: DemoRuntime,
  layout: DemoLayout,
  deps: { readonly log: Logger; readonly say: (text: string) => void },
): Promise<DemoRuntimeHandle> {
  switch (choice.kind) {
    case 'endpoint':
      return external('cri', choice.endpoint);
    case 'machine':
      return external('cri', await findMachineRuntime());
    case 'docker': {
      const { loadDockerImages } = await import('./docker.ts');
      const loaded = await loadDockerImages(choice.endpoint);
      if (loaded.length > 0) deps.say(`images built and loaded into docker: ${loaded.join(', ')}`);
      return external('docker', choice.endpoint, dockerFlags(choice.endpoint));
    }
    case 'managed': {
      const containerd = await startManagedContainerd({
        ...layout.containerd,
        networkName: layout.name,
        log: deps.log,
      });
      deps.say(
        containerd.adopted
          ? `containerd of an earlier start is still running, process ${containerd.pid}`
          : `containerd started in ${layout.root}, process ${containerd.pid}`,
      );
      const images = await buildLocalImages();
      const imported = await importImages(images, {
        socketPath: containerd.layout.socketPath,
        log: deps.log,
      });
      if (imported.length > 0) deps.say(`images built and loaded: ${imported.join(', ')}`);
      return {
        flags: criFlags(containerd.endpoint),
        external: undefined,
        release: () => containerd.release(),
      };
    }
    default:
      return choice satisfies never;
  }
}

const criFlags = (endpoint: string): readonly string[] => [`--container-runtime-endpoint=${endpoint}`];

const dockerFlags = (endpoint: string): readonly string[] => [
  '--container-runtime=docker',
  `--docker-endpoint=${endpoint}`,
  `--pod-infra-container-image=${PAUSE_IMAGE}`,
];

function external(
  kind: ExternalRuntime['kind'],
  endpoint: string,
  flags: readonly string[] = criFlags(endpoint),
): DemoRuntimeHandle {
  return { flags, external: { kind, endpoint }, release: () => undefined };
}

async function findMachineRuntime(): Promise<string> {
  for (const path of KNOWN_SOCKETS) {
    try {
      await access(path);
      return `unix://${path}`;
    } catch {
      // Not listening; try the next socket.
    }
  }
  throw new DemoUsageError(`no runtime listens on ${KNOWN_SOCKETS.join(' or ')}`);
}
