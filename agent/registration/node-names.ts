/** Names of node labels, annotations, taints and reasons, in a vocabulary. Pure. */
import type { Vocabulary } from '#api/vocabulary.ts';

export interface NodeNames {
  readonly labelHostname: string;
  readonly labelOS: string;
  readonly labelArch: string;
  readonly labelBetaOS: string;
  readonly labelBetaArch: string;
  /** Labels from machine facts, which are updated on an existing node. */
  readonly reconciledLabels: readonly string[];
  /** Labels of the instance type, the newest first. */
  readonly instanceTypes: readonly string[];
  readonly annotationControllerAttaches: string;
  readonly annotationKeepsVolumes: string;
  /** Annotation with the requested address for an external cloud provider. */
  readonly annotationProvidedIP: string;
  readonly taintUnschedulable: string;
  readonly taintUninitialized: string;
  readonly leaseApiVersion: string;
  readonly leaseNamespace: string;
  /** `nodeagent`: name of the agent in messages. */
  readonly agent: string;
  /** `NodeAgent`: prefix of reasons. */
  readonly reasonPrefix: string;
  readonly versionMember: string;
  readonly proxyVersionMember: string;
  readonly endpointMember: string;
}

export function nodeNames(vocabulary: Vocabulary): NodeNames {
  const { domain, labelHostname } = vocabulary;
  const labels = {
    labelHostname,
    labelOS: `${domain}/os`,
    labelArch: `${domain}/arch`,
    labelBetaOS: `beta.${domain}/os`,
    labelBetaArch: `beta.${domain}/arch`,
  };
  const instanceTypes = [`node.${domain}/instance-type`, `beta.${domain}/instance-type`];
  return {
    ...labels,
    instanceTypes,
    reconciledLabels: [
      ...Object.values(labels),
      `topology.${domain}/zone`,
      `topology.${domain}/region`,
      `failure-domain.beta.${domain}/zone`,
      `failure-domain.beta.${domain}/region`,
      ...instanceTypes,
      // Applies to Windows nodes, but the label may be set on any.
      `node.${domain}/windows-build`,
    ],
    annotationControllerAttaches: `volumes.${domain}/controller-managed-attach-detach`,
    annotationKeepsVolumes: `volumes.${domain}/keep-terminated-pod-volumes`,
    annotationProvidedIP: `alpha.${domain}/provided-node-ip`,
    taintUnschedulable: `node.${domain}/unschedulable`,
    taintUninitialized: `node.cloudprovider.${domain}/uninitialized`,
    leaseApiVersion: `coordination.${vocabulary.apiGroupDomain}/v1`,
    leaseNamespace: vocabulary.nodeLeaseNamespace,
    agent: vocabulary.agentComponent,
    reasonPrefix: vocabulary.agentReasonPrefix,
    versionMember: vocabulary.nodeAgentVersionMember,
    proxyVersionMember: vocabulary.proxyVersionMember,
    endpointMember: vocabulary.nodeAgentEndpointMember,
  };
}
