/** Adapts the pod network of a managed containerd to the settings of the agent. containerd watches the file and
 *  uses it for the next pods; running pods keep their addresses. */
import { readFile } from 'node:fs/promises';
import { choicesOfConflist, type HairpinMode, renderConflist } from './network.ts';
import type { NetworkRecord } from './network-record.ts';
import { replaceFile } from './prepare.ts';

export interface NetworkSettings {
  readonly hairpinMode: HairpinMode;
  /** Empty retains the ranges that the runtime chose. */
  readonly podCIDRs: readonly string[];
}

export interface AdaptedNetwork {
  readonly changed: boolean;
  /** Ranges in use from now on. */
  readonly subnets: readonly string[];
}

/** Idempotent. */
export async function adaptNetwork(
  { conflistPath, ...network }: NetworkRecord,
  { hairpinMode, podCIDRs }: NetworkSettings,
): Promise<AdaptedNetwork> {
  const current = choicesOfConflist(await readFile(conflistPath, 'utf8'));
  const subnets = podCIDRs.length > 0 ? podCIDRs : (current?.subnets ?? []);
  if (subnets.length === 0) return { changed: false, subnets };
  const changed = await replaceFile(conflistPath, renderConflist({ ...network, subnets, hairpinMode }));
  return { changed, subnets };
}
