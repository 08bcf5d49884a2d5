/** Settings of the controllers, from the configuration and identity of the server. */

import type { Agents } from '../agents/agents.ts';
import { createCallAgent } from '../agents/call-agent.ts';
import { nodeRangesOf } from '../config/node-ranges.ts';
import { formatClusterInfo } from '../controllers/bootstrap/cluster-info.ts';
import type { ClusterInfoSettings, ControllerSettings } from '../controllers/skeleton/settings.ts';
import { advertisedAddress } from '../identity/addresses.ts';
import { requireCertificates } from './certificates/client-authorities.ts';
import { signingAuthority } from './certificates/key-pairs.ts';
import type { Core } from './core.ts';

export interface ControllerSources {
  readonly port: number;
  /** Absent: there are no aggregated servers. */
  readonly otherContent: ControllerSettings['otherContent'];
  readonly collector: ControllerSettings['autoscaler']['collector'];
  /** Absent: there are no aggregated servers. */
  readonly aggregated: ControllerSettings['autoscaler']['aggregated'];
  /** Connections to the agents of nodes. */
  readonly agents: Pick<Agents, 'find'>;
}

interface RootAuthority {
  readonly pem: () => string;
  readonly onChange: (listener: () => void) => () => void;
}

/** Returns the CAs that pods trust. @throws Error that names the unreadable file */
async function rootAuthority({ config, identity, follow }: Core): Promise<RootAuthority> {
  const { rootCaFile: file } = config;
  if (file === '')
    return { pem: () => identity.current().serverAuthority.trusted, onChange: identity.onChange };
  const parse = ([text = '']: readonly string[]): string => requireCertificates(file, text);
  const { current: pem, onChange } = await follow({ what: 'root CA', paths: [file], parse });
  return { pem, onChange };
}

function clusterInfoOf({ config, identity }: Core, port: number): ClusterInfoSettings | undefined {
  if (!config.enableBootstrapTokenAuth) return undefined;
  const host = advertisedAddress(config);
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return {
    content: () => formatClusterInfo({ url, authority: identity.current().serverAuthority.trusted }),
    reset: config.etcdServers.length === 0,
  };
}

const autoscalerLimits = (config: Core['config']): ControllerSettings['autoscaler']['limits'] => ({
  syncPeriodMs: config.horizontalPodAutoscalerSyncPeriod,
  downscaleWindowMs: config.horizontalPodAutoscalerDownscaleStabilization,
  tolerance: Number(config.horizontalPodAutoscalerTolerance),
  cpuInitializationMs: config.horizontalPodAutoscalerCpuInitializationPeriod,
  initialReadinessMs: config.horizontalPodAutoscalerInitialReadinessDelay,
});

/** @throws Error that names an unreadable file */
export async function controllerSettings(
  core: Core,
  { port, otherContent, collector, aggregated, agents }: ControllerSources,
): Promise<ControllerSettings> {
  const { config, access, accountTokens, pendingCharges, identity, signers } = core;
  const root = await rootAuthority(core);
  return {
    authorizer: access.authorizer,
    tokenIssuer: accountTokens.issuer,
    rootAuthority: root.pem,
    onTrustChange(listener) {
      const ends = [root.onChange(listener), identity.onChange(listener)];
      return () => ends.forEach((end) => end());
    },
    signing: {
      authorityOf: signingAuthority(config, signers, identity),
      longestMs: config.clusterSigningDuration,
    },
    clusterInfo: clusterInfoOf(core, port),
    nodeHealth: { graceMs: config.nodeMonitorGracePeriod, startupGraceMs: config.nodeStartupGracePeriod },
    terminatedPods: config.terminatedPodGcThreshold,
    pendingCharges,
    otherContent,
    nodeRanges: nodeRangesOf(config),
    autoscaler: { limits: autoscalerLimits(config), collector, aggregated },
    callAgent: createCallAgent(agents, core.clock),
  };
}
