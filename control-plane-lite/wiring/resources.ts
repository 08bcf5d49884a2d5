/** Built-in resources enabled by the configuration. */
import { systemClock } from '#api/kit/clock.ts';
import { parseIpRange } from '#api/meta/ip.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { ConfigError } from '../config/parse.ts';
import { selectServed } from '../config/runtime-config.ts';
import type { ServerConfig } from '../config/settings.ts';
import { cleanupFinalizer } from '../custom/definition.ts';
import { dropExpressions } from '../custom/schema/expressions.ts';
import { createDefinitionCheck } from '../custom/schema/structural-schema.ts';
import { createTurns } from '../openapi/turns.ts';
import { builtinResources } from '../resources/builtin.ts';
import type { ServiceAllocation } from '../resources/core/allocation/contract.ts';
import { createServiceAllocation } from '../resources/core/allocation/service-allocation.ts';
import { parsePortRange } from '../resources/core/allocation/spaces.ts';
import { coreKinds } from '../resources/core/table.ts';
import { groupKinds } from '../resources/groups/table.ts';
import { createResourceRegistry, type ResourceRegistry } from '../resources/registry.ts';
import type { Store } from '../store/contract.ts';

export interface ServedResources {
  readonly registry: ResourceRegistry;
  readonly allocation: ServiceAllocation;
}

/** @throws ConfigError if a range or an API version is invalid */
export function createResources(
  config: ServerConfig,
  store: Store,
  vocabulary: Vocabulary,
  gates: ReadonlySet<string>,
): ServedResources {
  const allocation = createServiceAllocation(
    { store, now: () => systemClock.now(), random: Math.random },
    { ...allocationOptions(config), staticSubrange: gates.has('ServiceIPStaticSubrange') },
  );
  const kinds = {
    ...coreKinds({ vocabulary, allocation, eventTtlSeconds: config.eventTtl / 1000 }),
    ...groupKinds({
      vocabulary,
      schemaErrors: createDefinitionCheck(createTurns),
      dropDisabled: dropExpressions,
      cleanupFinalizer: cleanupFinalizer(vocabulary.apiGroupDomain),
    }),
  };
  const all = builtinResources({ vocabulary, gates, kinds, allowPrivileged: config.allowPrivileged });
  return { registry: createResourceRegistry(selectServed(all, config.runtimeConfig)), allocation };
}

function allocationOptions(config: ServerConfig): Parameters<typeof createServiceAllocation>[1] {
  const problems: string[] = [];
  const clusterIPRanges = config.serviceClusterIpRange.flatMap((text) => {
    const range = parseIpRange(text);
    if (range === undefined)
      problems.push(
        `--service-cluster-ip-range: ${JSON.stringify(text)} is not a range; use one such as 10.0.0.0/24`,
      );
    return range ?? [];
  });
  const families = clusterIPRanges.map(({ family }) => family);
  if (new Set(families).size !== families.length)
    problems.push('--service-cluster-ip-range: both ranges are of one family');
  const nodePorts = parsePortRange(config.serviceNodePortRange);
  if (nodePorts === undefined) {
    problems.push(
      `--service-node-port-range: ${JSON.stringify(config.serviceNodePortRange)} is not a range; use one such as 30000-32767`,
    );
  }
  if (problems.length > 0 || nodePorts === undefined) throw new ConfigError(problems);
  return { clusterIPRanges, nodePorts };
}
