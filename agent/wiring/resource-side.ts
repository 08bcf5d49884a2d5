/** The managers of processors, memory and devices, wired together. Providers are loaded only where they are asked for. */
import type { ResourceManagers, ResourceProvider } from '../resources/contract.ts';
import { createResourceManagers } from '../resources/resource-managers.ts';
import type { Base } from './base.ts';

/** @throws what keeps a manager from doing what it was told, with the remedy: the agent doesn't start */
export function createResourceSide({ log }: Base): Promise<ResourceManagers> {
  const providers: ResourceProvider[] = [];
  return Promise.resolve(
    createResourceManagers({ providers, log }, { policy: 'none', scope: 'container', nodes: 1 }),
  );
}
