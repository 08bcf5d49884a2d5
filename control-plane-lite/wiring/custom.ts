/** Custom resources: what the definitions in the store have this server serve. */
import type { WatchHandle } from '../cache/contract.ts';
import { runDefinitionController } from '../custom/definition-controller.ts';
import { followDefinitions } from '../custom/registrar.ts';
import type { Resource } from '../resources/contract.ts';
import type { Core } from './core.ts';
import { createServiceFinder } from './service-finder.ts';

export interface CustomResources extends WatchHandle {
  /** Works until the signal fires. */
  run(signal: AbortSignal): Promise<void>;
}

function definitionsOf({ registry, vocabulary }: Core): Resource | undefined {
  return registry.find(`apiextensions.${vocabulary.apiGroupDomain}`, 'v1', 'customresourcedefinitions');
}

/** Serves what is defined now, and follows from then on. The cache must have been loaded. */
export function createCustomResources(core: Core): CustomResources {
  const definitions = definitionsOf(core);
  if (definitions === undefined) return { run: () => Promise.resolve(), close: () => undefined };
  const services = createServiceFinder(core);
  const log = core.log.child({ component: 'custom-resources' });
  const following = followDefinitions({ ...core, log, addressOf: services.addressOf }, definitions);
  return {
    run: (signal) => runDefinitionController({ ...core, log }, definitions, signal),
    close() {
      following.close();
      services.close();
    },
  };
}
