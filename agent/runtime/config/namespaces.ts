/** Linux namespaces that sandbox and containers of a pod share with each other and with the node. Pure. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { NamespaceMode } from '#cri/gen/cri-v1.ts';

export interface NamespaceOptionInput {
  readonly network: NamespaceMode;
  readonly ipc: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly targetId: string;
}

/** @param targetId container whose process namespace an ephemeral container joins, if any */
export function namespaceOptions(pod: Pod, targetId = ''): NamespaceOptionInput {
  const { hostNetwork, hostIPC, hostPID, shareProcessNamespace } = pod.spec ?? {};
  const podPid: NamespaceMode = shareProcessNamespace === true ? 'POD' : 'CONTAINER';
  const ownPid: NamespaceMode = hostPID === true ? 'NODE' : podPid;
  return {
    network: hostNetwork === true ? 'NODE' : 'POD',
    ipc: hostIPC === true ? 'NODE' : 'POD',
    pid: targetId === '' ? ownPid : 'TARGET',
    targetId,
  };
}
