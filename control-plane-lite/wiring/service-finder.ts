/** Resolves the services of webhooks. */
import { resolveService } from '../aggregation/resolve-service.ts';
import {
  createServiceSource,
  type ServiceSource,
  type ServiceSourceDeps,
} from '../aggregation/service-source.ts';
import type { WatchHandle } from '../cache/contract.ts';
import type { ServerConfig } from '../config/settings.ts';
import type { ServiceAddress, WebhookDeps } from '../webhooks/call.ts';

export interface ServiceFinderDeps extends Omit<ServiceSourceDeps, 'onChange'> {
  readonly config: Pick<ServerConfig, 'enableAggregatorRouting'>;
}

/** Starts to follow services when the first webhook needs one. */
export function createServiceFinder({
  cache,
  registry,
  vocabulary,
  config,
}: ServiceFinderDeps): Pick<WebhookDeps, 'addressOf'> & WatchHandle {
  let source: ServiceSource | undefined;
  let turn = 0;
  return {
    addressOf(service): ServiceAddress {
      source ??= createServiceSource({ cache, registry, vocabulary, onChange: () => undefined });
      const found = resolveService(service, source.stateOf(service), config.enableAggregatorRouting);
      if (found.kind === 'unreachable') throw new Error(found.message);
      turn = (turn + 1) % found.addresses.length;
      const address = found.addresses[turn];
      if (address === undefined) throw new Error(`service ${service.name} has no address`);
      return address;
    },
    close: () => source?.close(),
  };
}
