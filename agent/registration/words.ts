/** Labels, annotations, taints and reasons of nodes, in a vocabulary. Pure. */
import type { Vocabulary } from '#api/vocabulary.ts';

export interface NodeWords {
  readonly labelHostname: string;
  readonly labelOS: string;
  readonly labelArch: string;
  readonly labelBetaOS: string;
  readonly labelBetaArch: string;
  /** Labels that follow the machine: a node that was there before gets them anew. */
  readonly reconciledLabels: readonly string[];
  /** Labels that say what kind of machine it is, the newest first. */
  readonly instanceTypes: readonly string[];
  readonly annotationControllerAttaches: string;
  readonly annotationKeepsVolumes: string;
  /** Tells a provider outside which address the user wished. */
  readonly annotationProvidedIP: string;
  readonly taintUnschedulable: string;
  readonly taintUninitialized: string;
  readonly leaseApiVersion: string;
  readonly leaseNamespace: string;
  /** `nodeagent`: what the agent calls itself in messages. */
  readonly agent: string;
  /** `NodeAgent`: how reasons begin. */
  readonly reasonPrefix: string;
  readonly versionMember: string;
  readonly proxyVersionMember: string;
  readonly endpointMember: string;
}

export function nodeWords(vocabulary: Vocabulary): NodeWords {
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
      // Such a node is no ours, but the label may be set on any.
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
