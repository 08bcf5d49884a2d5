/** Custom resources: serves the resources of the stored CustomResourceDefinitions. */
import type { WatchHandle } from '../cache/contract.ts';
import { runDefinitionController } from '../custom/definitions/definition-controller.ts';
import { followDefinitions } from '../custom/definitions/registrar.ts';
import { createSchemaShelf } from '../custom/definitions/schema-cache.ts';
import { createTurns } from '../openapi/turns.ts';
import type { Resource } from '../resources/contract.ts';
import type { Core } from './core.ts';
import { createServiceFinder } from './service-finder.ts';

export interface CustomResources extends WatchHandle {
  /** Resolves once all current definitions are served. */
  readonly begun: Promise<void>;
  /** Runs until the signal fires. */
  run(signal: AbortSignal): Promise<void>;
}

function definitionsOf({ registry, vocabulary }: Core): Resource | undefined {
  return registry.find(`apiextensions.${vocabulary.apiGroupDomain}`, 'v1', 'customresourcedefinitions');
}

/** Serves the current definitions (large ones some turns later), and follows changes from then on. The cache
 *  must be loaded. */
export function createCustomResources(core: Core): CustomResources {
  const definitions = definitionsOf(core);
  if (definitions === undefined) {
    return { begun: Promise.resolve(), run: () => Promise.resolve(), close: () => undefined };
  }
  const services = createServiceFinder(core);
  const log = core.log.child({ component: 'custom-resources' });
  const shelf = createSchemaShelf({ vocabulary: core.vocabulary, createTurns });
  const following = followDefinitions({ ...core, log, shelf, addressOf: services.addressOf }, definitions);
  return {
    begun: following.begun,
    run: (signal) =>
      runDefinitionController(
        { ...core, log, prepare: (entry) => shelf.prepare(entry) },
        definitions,
        signal,
      ),
    close() {
      following.close();
      services.close();
    },
  };
}
