/** State of the agent's feature gates, by typed names. */
import { type GateSettings, namedGateEnabled } from '#api/schema/feature-gates.ts';
import type { FeatureGateName } from './gen/feature-gates.ts';

/** Reports whether a feature gate is enabled in a configuration. */
export function featureEnabled(
  config: { readonly featureGates: GateSettings },
  name: FeatureGateName,
): boolean {
  return namedGateEnabled(config.featureGates, name);
}
