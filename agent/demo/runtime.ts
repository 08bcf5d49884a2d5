/** Opens the runtime of the demo: a private containerd with the local images, or an existing runtime. */
import { access } from 'node:fs/promises';
import { startManagedContainerd } from '#agent/runtime/managed/containerd.ts';
import { buildLocalImages, importImages } from '#agent/runtime/managed/images.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { DemoLayout } from './layout.ts';
import { type DemoRuntime, DemoUsageError } from './options.ts';

export interface DemoRuntimeHandle {
  /** `unix://…` */
  readonly endpoint: string;
  readonly managed: boolean;
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
      return { endpoint: choice.endpoint, managed: false, release: () => undefined };
    case 'machine':
      return { endpoint: await findMachineRuntime(), managed: false, release: () => undefined };
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
      return { endpoint: containerd.endpoint, managed: true, release: () => containerd.release() };
    }
    default:
      return choice satisfies never;
  }
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
