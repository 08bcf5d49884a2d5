/** Vocabularies: every name that differs between the platform and upstream.
 *  No other source file spells one of these, which a test verifies. No I/O. */

export type VocabularyName = 'plat' | 'kubernetes';

/** The names of one vocabulary. Label and annotation keys are whole keys unless the member's name ends in
 *  `Prefix`. */
export interface Vocabulary {
  readonly name: VocabularyName;
  /** Domain of labels, annotations and secret types, without a trailing slash. */
  readonly domain: string;
  /** Suffix of API groups: `storage.<apiGroupDomain>`. */
  readonly apiGroupDomain: string;
  readonly systemNamespace: string;
  readonly publicNamespace: string;
  readonly nodeLeaseNamespace: string;
  readonly protobufContentType: string;
  readonly execInfoVariable: string;
  readonly configApiGroup: string;
  readonly configKind: string;
  readonly credentialProviderApiGroup: string;
  readonly credentialProviderConfigKind: string;
  /** Reverse-domain prefix of the labels and annotations that the agent puts on CRI objects. */
  readonly criPrefix: string;
  /** Annotations of static pods. */
  readonly configSource: string;
  readonly configHash: string;
  readonly configSeen: string;
  readonly configMirror: string;
  readonly appArmorContainerPrefix: string;
  readonly seccompPod: string;
  readonly seccompContainerPrefix: string;
  readonly defaultContainer: string;
  readonly secretTypeDockerConfig: string;
  readonly secretTypeDockerConfigJson: string;
  readonly labelHostname: string;
  /** Domain of labels that a node agent may set on its node freely. */
  readonly nodeAgentLabelDomain: string;
  /** Member under which `/configz` serves the configuration. */
  readonly configzKey: string;
  /** Header line of the managed hosts file. */
  readonly managedHostsHeader: string;
  /** User agent prefix of HTTP probes. */
  readonly probeUserAgent: string;
  /** Name of the agent as the source of events. */
  readonly agentComponent: string;
  /** Annotation of the bookmark that ends the synthetic events of a watch. */
  readonly initialEventsEnd: string;
  /** Prefix of the names of components and of their roles: `<componentPrefix>-scheduler`. */
  readonly componentPrefix: string;
  /** Prefix of the agent's chains of packet rules: `<chainPrefix>-MARK-MASQ`. */
  readonly chainPrefix: string;
  /** Last part of the signer's name for clients of the API server. */
  readonly apiServerClientSigner: string;
  /** Last parts of the names of the signers for node agents: as clients of the API server, and as servers. */
  readonly nodeClientSigner: string;
  readonly nodeServingSigner: string;
  /** Type of Secrets that hold bootstrap tokens. */
  readonly secretTypeBootstrapToken: string;
  /** Label and annotation of roles and bindings that the server creates and reconciles. */
  readonly labelBootstrapping: string;
  readonly annotationAutoUpdate: string;
  /** Response headers with the UIDs of the FlowSchema and the PriorityLevelConfiguration of a request. */
  readonly flowSchemaHeader: string;
  readonly priorityLevelHeader: string;
  /** Service of the API server in the default namespace. */
  readonly apiService: string;
  /** Finalizer in a namespace's spec that blocks its removal until its content is deleted. */
  readonly namespaceFinalizer: string;
  /** Member of a node's system information with the node agent's version. */
  readonly nodeAgentVersionMember: string;
  /** Member of a node's system information with the service proxy's version. */
  readonly proxyVersionMember: string;
  /** Member of a node's daemon endpoints with the port of the node agent. */
  readonly nodeAgentEndpointMember: string;
  /** Prefix of the reasons of a node's conditions: `<agentReasonPrefix>Ready`. */
  readonly agentReasonPrefix: string;
  /** Prefix of schema extensions: `<prefix>list-type`. */
  readonly schemaExtensionPrefix: string;
  /** Member of plugins' settings that names a client configuration file. */
  readonly clientConfigFileMember: string;
  /** Start of every value that is encrypted in the store. */
  readonly encryptionMark: string;
  /** Name of the cgroup of all pods of a node. */
  readonly podsCgroup: string;
}

const plat: Vocabulary = {
  name: 'plat',
  domain: 'plat.io',
  apiGroupDomain: 'plat.io',
  systemNamespace: 'plat-system',
  publicNamespace: 'plat-public',
  nodeLeaseNamespace: 'plat-node-lease',
  protobufContentType: 'application/vnd.plat.protobuf',
  execInfoVariable: 'PLAT_EXEC_INFO',
  configApiGroup: 'nodeagent.config.plat.io',
  configKind: 'NodeAgentConfiguration',
  credentialProviderApiGroup: 'credentialprovider.nodeagent.plat.io',
  credentialProviderConfigKind: 'CredentialProviderConfig',
  criPrefix: 'io.plat',
  configSource: 'plat.io/config.source',
  configHash: 'plat.io/config.hash',
  configSeen: 'plat.io/config.seen',
  configMirror: 'plat.io/config.mirror',
  appArmorContainerPrefix: 'container.apparmor.security.beta.plat.io/',
  seccompPod: 'seccomp.security.alpha.plat.io/pod',
  seccompContainerPrefix: 'container.seccomp.security.alpha.plat.io/',
  defaultContainer: 'platctl.plat.io/default-container',
  secretTypeDockerConfig: 'plat.io/dockercfg',
  secretTypeDockerConfigJson: 'plat.io/dockerconfigjson',
  labelHostname: 'plat.io/hostname',
  nodeAgentLabelDomain: 'nodeagent.plat.io',
  configzKey: 'nodeagentconfig',
  managedHostsHeader: '# Plat-managed hosts file',
  probeUserAgent: 'plat-probe',
  agentComponent: 'nodeagent',
  initialEventsEnd: 'plat.io/initial-events-end',
  apiService: 'plat',
  namespaceFinalizer: 'plat',
  nodeAgentVersionMember: 'nodeAgentVersion',
  proxyVersionMember: 'platProxyVersion',
  nodeAgentEndpointMember: 'nodeAgentEndpoint',
  agentReasonPrefix: 'NodeAgent',
  schemaExtensionPrefix: 'x-plat-',
  clientConfigFileMember: 'platConfigFile',
  encryptionMark: 'plat:enc:',
  podsCgroup: 'platpods',
  componentPrefix: 'plat',
  chainPrefix: 'PLAT',
  apiServerClientSigner: 'apiserver-client',
  nodeClientSigner: 'apiserver-client-nodeagent',
  nodeServingSigner: 'nodeagent-serving',
  secretTypeBootstrapToken: 'bootstrap.plat.io/token',
  labelBootstrapping: 'plat.io/bootstrapping',
  flowSchemaHeader: 'X-Plat-PF-FlowSchema-UID',
  priorityLevelHeader: 'X-Plat-PF-PriorityLevel-UID',
  annotationAutoUpdate: 'rbac.authorization.plat.io/autoupdate',
};

const kubernetes: Vocabulary = {
  name: 'kubernetes',
  domain: 'kubernetes.io',
  apiGroupDomain: 'k8s.io',
  systemNamespace: 'kube-system',
  publicNamespace: 'kube-public',
  nodeLeaseNamespace: 'kube-node-lease',
  protobufContentType: 'application/vnd.kubernetes.protobuf',
  execInfoVariable: 'KUBERNETES_EXEC_INFO',
  configApiGroup: 'kubelet.config.k8s.io',
  configKind: 'KubeletConfiguration',
  credentialProviderApiGroup: 'credentialprovider.kubelet.k8s.io',
  credentialProviderConfigKind: 'CredentialProviderConfig',
  criPrefix: 'io.kubernetes',
  configSource: 'kubernetes.io/config.source',
  configHash: 'kubernetes.io/config.hash',
  configSeen: 'kubernetes.io/config.seen',
  configMirror: 'kubernetes.io/config.mirror',
  appArmorContainerPrefix: 'container.apparmor.security.beta.kubernetes.io/',
  seccompPod: 'seccomp.security.alpha.kubernetes.io/pod',
  seccompContainerPrefix: 'container.seccomp.security.alpha.kubernetes.io/',
  defaultContainer: 'kubectl.kubernetes.io/default-container',
  secretTypeDockerConfig: 'kubernetes.io/dockercfg',
  secretTypeDockerConfigJson: 'kubernetes.io/dockerconfigjson',
  labelHostname: 'kubernetes.io/hostname',
  nodeAgentLabelDomain: 'kubelet.kubernetes.io',
  configzKey: 'kubeletconfig',
  managedHostsHeader: '# Kubernetes-managed hosts file',
  probeUserAgent: 'kube-probe',
  agentComponent: 'kubelet',
  initialEventsEnd: 'k8s.io/initial-events-end',
  apiService: 'kubernetes',
  namespaceFinalizer: 'kubernetes',
  nodeAgentVersionMember: 'kubeletVersion',
  proxyVersionMember: 'kubeProxyVersion',
  nodeAgentEndpointMember: 'kubeletEndpoint',
  agentReasonPrefix: 'Kubelet',
  schemaExtensionPrefix: 'x-kubernetes-',
  clientConfigFileMember: 'kubeConfigFile',
  encryptionMark: 'k8s:enc:',
  podsCgroup: 'kubepods',
  componentPrefix: 'kube',
  chainPrefix: 'KUBE',
  apiServerClientSigner: 'kube-apiserver-client',
  nodeClientSigner: 'kube-apiserver-client-kubelet',
  nodeServingSigner: 'kubelet-serving',
  secretTypeBootstrapToken: 'bootstrap.kubernetes.io/token',
  labelBootstrapping: 'kubernetes.io/bootstrapping',
  flowSchemaHeader: 'X-Kubernetes-PF-FlowSchema-UID',
  priorityLevelHeader: 'X-Kubernetes-PF-PriorityLevel-UID',
  annotationAutoUpdate: 'rbac.authorization.kubernetes.io/autoupdate',
};

export const VOCABULARIES: Readonly<Record<VocabularyName, Vocabulary>> = { plat, kubernetes };

/** Field managers of client-side apply by command-line tools, and the annotation of their last applied
 *  configuration. Tools of either vocabulary may use a server of the other. */
export const CLIENT_SIDE_APPLY: readonly { readonly manager: string; readonly annotation: string }[] = [
  { manager: 'platctl', annotation: 'platctl.plat.io/last-applied-configuration' },
  { manager: 'kubectl', annotation: 'kubectl.kubernetes.io/last-applied-configuration' },
];

/** The containerd namespace of its CRI plugin, in either vocabulary. */
export const CONTAINERD_CRI_NAMESPACE = 'k8s.io';

/** Subprotocols of exec and attach streams, in either vocabulary: with exit codes and resizing, and (v5, WebSocket
 *  only) with half-close. */
export const REMOTE_COMMAND_V4 = 'v4.channel.k8s.io';
export const REMOTE_COMMAND_V5 = 'v5.channel.k8s.io';

/** Subprotocol of port-forward streams, in either vocabulary. */
export const PORT_FORWARD_V1 = 'portforward.k8s.io';
/** Subprotocol for clients that tunnel SPDY in the messages of a WebSocket. */
export const PORT_FORWARD_TUNNEL = 'SPDY/3.1+portforward.k8s.io';

/** Prefix of the arguments by which network plugins find a pod, in either vocabulary. */
export const CNI_POD_ARGUMENT_PREFIX = 'K8S_POD_';

/** Default sandbox image of a docker runtime, in either vocabulary. */
export const DEFAULT_SANDBOX_IMAGE = 'k8s.gcr.io/pause:3.2';

/** Upstream's spellings of platform names that users may write in either vocabulary. */
export const UPSTREAM_CONFIG_KIND: string = kubernetes.configKind;

/** Converts an API group between the vocabularies: `storage.k8s.io` <-> `storage.plat.io`.
 *  Groups without a domain (`apps`, the core group) are the same in both. */
export function canonicalApiVersion(apiVersion: string): string {
  const [group, version] = apiVersion.split('/');
  if (group === undefined || version === undefined) return apiVersion;
  if (group === kubernetes.configApiGroup) return `${plat.configApiGroup}/${version}`;
  if (group === kubernetes.credentialProviderApiGroup) return `${plat.credentialProviderApiGroup}/${version}`;
  const suffix = `.${kubernetes.apiGroupDomain}`;
  if (!group.endsWith(suffix)) return apiVersion;
  return `${group.slice(0, -suffix.length)}.${plat.apiGroupDomain}/${version}`;
}

/** Returns upstream's spelling of a server flag; it differs for flags that name the agent or a signer. */
export const upstreamAgentFlag = (flag: string): string =>
  flag
    .replace(/^(cluster-signing-|)nodeagent-/, '$1kubelet-')
    .replace(/^cluster-signing-apiserver-client-/, `cluster-signing-${kubernetes.apiServerClientSigner}-`);
