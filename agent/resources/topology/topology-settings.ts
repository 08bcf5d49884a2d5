/** Settings of the topology manager from the configuration. Pure. Source: upstream's topology manager,
 *  release 1.24. */
import { featureEnabled } from '../../config/feature-gates.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import { ResourceStateError } from '../state/state-error.ts';
import { MOST_NODES, maskOf, type NodeMask, type TopologyPolicy } from './hints.ts';

export interface TopologySettings {
  readonly policy: TopologyPolicy;
  readonly scope: 'container' | 'pod';
  /** All NUMA nodes of the machine. */
  readonly nodes: NodeMask;
}

/** Bits of a mask. */
const HIGHEST_NODE = 30;

/** @param nodes numbers of the machine's NUMA nodes
 *  @throws ResourceStateError for a machine that the policy does not support */
export function topologySettings(
  config: Pick<AgentConfig, 'topologyManagerPolicy' | 'topologyManagerScope' | 'featureGates'>,
  nodes: readonly number[],
): TopologySettings {
  const isOn = featureEnabled(config, 'TopologyManager');
  const policy = isOn ? config.topologyManagerPolicy : 'none';
  const scope = isOn ? config.topologyManagerScope : 'container';
  const isTooLarge = nodes.length > MOST_NODES || nodes.some((node) => node > HIGHEST_NODE);
  if (policy !== 'none' && isTooLarge) {
    throw new ResourceStateError(
      `topologyManagerPolicy: ${policy} supports up to ${MOST_NODES} NUMA nodes with ids up to ${HIGHEST_NODE}; this machine has ${nodes.join(', ')}`,
    );
  }
  return { policy, scope, nodes: maskOf(isTooLarge || nodes.length === 0 ? [0] : nodes) };
}
