/** Custom resources: what the definitions in the store have this server serve. */
import type { WatchHandle } from '../cache/contract.ts';
import { runDefinitionController } from '../custom/definition-controller.ts';
import { followDefinitions } from '../custom/registrar.ts';
import { createSchemaShelf } from '../custom/schema-shelf.ts';
import { createTurns } from '../openapi/turns.ts';
import type { Resource } from '../resources/contract.ts';
import type { Core } from './core.ts';
import { createServiceFinder } from './service-finder.ts';

export interface CustomResources extends WatchHandle {
  /** Resolves when what is defined now is served. */
  readonly begun: Promise<void>;
  /** Works until the signal fires. */
  run(signal: AbortSignal): Promise<void>;
}

function definitionsOf({ registry, vocabulary }: Core): Resource | undefined {
  return registry.find(`apiextensions.${vocabulary.apiGroupDomain}`, 'v1', 'customresourcedefinitions');
}

/** Serves what is defined now (large definitions some turns later), and follows from then on. The cache must have been loaded. */
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
