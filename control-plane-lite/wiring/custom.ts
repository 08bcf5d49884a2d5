/** Custom resources: what the definitions in the store have this server serve. */
import { resolveService } from '../aggregation/resolve-service.ts';
import { createServiceSource, type ServiceSource } from '../aggregation/service-source.ts';
import type { WatchHandle } from '../cache/contract.ts';
import { runDefinitionController } from '../custom/definition-controller.ts';
import { followDefinitions } from '../custom/registrar.ts';
import type { ServiceAddress, WebhookDeps } from '../custom/webhook.ts';
import type { Resource } from '../resources/contract.ts';
import type { Core } from './core.ts';

export interface CustomResources extends WatchHandle {
  /** Works until the signal fires. */
  run(signal: AbortSignal): Promise<void>;
}

function definitionsOf({ registry, vocabulary }: Core): Resource | undefined {
  return registry.find(`apiextensions.${vocabulary.apiGroupDomain}`, 'v1', 'customresourcedefinitions');
}

/** Finds services when the first webhook needs one. */
function createServiceFinder(core: Core): WebhookDeps & WatchHandle {
  let source: ServiceSource | undefined;
  let turn = 0;
  return {
    addressOf(service): ServiceAddress {
      source ??= createServiceSource({ ...core, onChange: () => undefined });
      const found = resolveService(service, source.stateOf(service), core.config.enableAggregatorRouting);
      if (found.kind === 'unreachable') throw new Error(found.message);
      turn = (turn + 1) % found.addresses.length;
      const address = found.addresses[turn];
      if (address === undefined) throw new Error(`service ${service.name} has no address`);
      return address;
    },
    close: () => source?.close(),
  };
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
