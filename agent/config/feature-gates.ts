/** Whether the agent's features are on, by names that the compiler knows. */
import { type GateSettings, namedGateEnabled } from '#api/schema/feature-gates.ts';
import type { FeatureGateName } from './gen/feature-gates.ts';

/** Whether a feature is switched on in a configuration. */
export function featureEnabled(
  config: { readonly featureGates: GateSettings },
  name: FeatureGateName,
): boolean {
  return namedGateEnabled(config.featureGates, name);
}
