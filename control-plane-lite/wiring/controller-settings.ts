/** Settings of the controllers, from the configuration and identity of the server. */
import { readFile } from 'node:fs/promises';
import { formatClusterInfo } from '../controllers/bootstrap/cluster-info.ts';
import type { ClusterInfoSettings, ControllerSettings } from '../controllers/skeleton/settings.ts';
import { advertisedAddress } from '../identity/addresses.ts';
import type { ServerIdentity } from '../identity/files.ts';
import type { Core } from './core.ts';

export interface ControllerSources {
  readonly identity: Pick<ServerIdentity, 'authority' | 'nodeServingAuthority'>;
  readonly port: number;
  /** Absent: there are no aggregated servers. */
  readonly otherContent: ControllerSettings['otherContent'];
}

/** PEM of the CA that pods trust. @throws Error that names the unreadable file */
async function rootAuthority({ rootCaFile }: Core['config'], own: string): Promise<string> {
  if (rootCaFile === '') return own;
  try {
    return await readFile(rootCaFile, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read ${rootCaFile}`, { cause });
  }
}

function clusterInfoOf({ config }: Core, port: number, authority: string): ClusterInfoSettings | undefined {
  if (!config.enableBootstrapTokenAuth) return undefined;
  const host = advertisedAddress(config);
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { content: formatClusterInfo({ url, authority }), reset: config.etcdServers.length === 0 };
}

/** @throws Error that names an unreadable file */
export async function controllerSettings(
  core: Core,
  { identity, port, otherContent }: ControllerSources,
): Promise<ControllerSettings> {
  const { config, access, accountTokens, pendingCharges } = core;
  const { authority, nodeServingAuthority } = identity;
  return {
    authorizer: access.authorizer,
    tokenIssuer: accountTokens.issuer,
    rootAuthority: await rootAuthority(config, authority.certificate),
    signing: { authority, nodeServingAuthority, longestMs: config.clusterSigningDuration },
    clusterInfo: clusterInfoOf(core, port, authority.certificate),
    nodeHealth: { graceMs: config.nodeMonitorGracePeriod, startupGraceMs: config.nodeStartupGracePeriod },
    terminatedPods: config.terminatedPodGcThreshold,
    pendingCharges,
    otherContent,
  };
}
