/** Settings of the API. */
import { effectiveGates } from '#api/schema/gate-effects.ts';
import type { SettingsOf } from './setting.ts';

export interface ApiConfig {
  readonly vocabulary: string;
  readonly runtimeConfig: readonly string[];
  readonly serviceClusterIpRange: readonly string[];
  readonly serviceNodePortRange: string;
  readonly enableAggregatorRouting: boolean;
  readonly allowPrivileged: boolean;
  readonly featureGates: readonly string[];
}

export const API: SettingsOf<ApiConfig> = {
  vocabulary: {
    flag: 'vocabulary',
    type: 'string',
    default: 'plat',
    choices: ['plat', 'kubernetes'],
    group: 'API',
    help: 'naming scheme of API groups, label keys and other identifiers',
  },
  runtimeConfig: {
    flag: 'runtime-config',
    type: 'list',
    default: [],
    group: 'API',
    help: 'API versions or resources to enable or disable: batch/v1=false, api/all=true',
  },
  serviceClusterIpRange: {
    flag: 'service-cluster-ip-range',
    type: 'list',
    default: ['10.0.0.0/24'],
    group: 'API',
    help: 'IP range of services; one range, or one per IP family',
  },
  serviceNodePortRange: {
    flag: 'service-node-port-range',
    type: 'string',
    default: '30000-32767',
    group: 'API',
    help: 'port range of node ports',
  },
  enableAggregatorRouting: {
    flag: 'enable-aggregator-routing',
    type: 'boolean',
    default: true,
    group: 'API',
    help: 'route to the endpoints of aggregated servers instead of their cluster IPs',
  },
  allowPrivileged: {
    flag: 'allow-privileged',
    type: 'boolean',
    default: true,
    group: 'API',
    help: 'accept privileged containers in pods and pod templates',
  },
  featureGates: {
    flag: 'feature-gates',
    type: 'list',
    default: [],
    group: 'API',
    help: `name=true or name=false; with an effect here: ${effectiveGates('control-plane-lite').join(', ')}; others are accepted without effect`,
  },
};
