/** Descriptions of services, configuration and the other kinds of the core group. Data. */
import type { Texts } from './texts.ts';

const IMMUTABLE =
  'If true, the data and this field can no longer be changed; the object can only be deleted. Defaults to false.';

export const CORE_TEXTS: Texts = {
  'core/v1.Service': {
    is: 'Stable name and virtual address for a changing set of pods.',
  },
  'core/v1.ServiceSpec': {
    is: 'Selected pods and the addresses through which clients reach them.',
    members: {
      ports: 'Ports of the service. Required, unless the service is headless or of type ExternalName.',
      selector:
        'Labels of the pods that receive the traffic. If empty, the endpoints are managed externally. Ignored for type ExternalName.',
      clusterIP:
        'Virtual IP address of the service. If empty, the server allocates one. None makes the service headless. Must be empty for type ExternalName. Cannot be changed, except together with a change of type from or to ExternalName.',
      clusterIPs:
        'Virtual IP addresses, at most one for each IP family. The first one equals clusterIP; the families follow ipFamilies.',
      type: 'Exposure of the service. ClusterIP: a virtual IP address in the cluster. NodePort: also a port on every node. LoadBalancer: also an external load balancer. ExternalName: a DNS alias only. Defaults to ClusterIP.',
      externalIPs:
        'Further IP addresses whose traffic nodes accept for this service. Their routing to the nodes is not managed by the system.',
      sessionAffinity:
        'ClientIP routes all connections of a client address to the same pod. Defaults to None.',
      sessionAffinityConfig: 'Parameters of the session affinity.',
      loadBalancerIP:
        'Deprecated. Requested address of the load balancer. Ignored by providers that do not support it.',
      loadBalancerSourceRanges:
        'CIDR ranges of clients that may use the load balancer, if the provider supports it. If empty, all may.',
      loadBalancerClass:
        'Class of the load balancer implementation. If absent, the provider of the cluster implements it. Cannot be changed once set. For type LoadBalancer only.',
      allocateLoadBalancerNodePorts:
        'Whether node ports are allocated for a service of type LoadBalancer. Defaults to true.',
      healthCheckNodePort:
        'Node port of the health check for type LoadBalancer with externalTrafficPolicy Local. Allocated by the server if absent. Cannot be changed.',
      externalName:
        'DNS name that the service is an alias of, published as a CNAME record. Required for type ExternalName.',
      externalTrafficPolicy:
        'Routing of traffic that arrives at node ports, external IP addresses and load balancers. Cluster: to all endpoints. Local: only to endpoints on the receiving node, which preserves the client address. Defaults to Cluster.',
      internalTrafficPolicy:
        'Routing of traffic that arrives at the cluster IP. Cluster: to all endpoints. Local: only to endpoints on the node of the client; without one, the traffic is dropped. Defaults to Cluster.',
      ipFamilies:
        'IP families of the service, IPv4 and IPv6, at most two. If empty, the server assigns them according to ipFamilyPolicy. The first one cannot be changed.',
      ipFamilyPolicy:
        'Number of IP families. SingleStack: one. PreferDualStack: two if the cluster has two. RequireDualStack: two, or the request fails. Usually defaults to SingleStack.',
      publishNotReadyAddresses:
        'If true, endpoints are published as ready regardless of the readiness of their pods, for example for peer discovery. Defaults to false.',
    },
  },
  'core/v1.ServicePort': {
    is: 'Port of a service and the target port on the pods.',
    members: {
      name: 'Name of the port, a DNS label, unique in the service. Required if the service has several ports.',
      protocol: 'IP protocol: TCP, UDP or SCTP. Defaults to TCP.',
      appProtocol:
        'Application protocol: a standard service name, or a name with a domain as its prefix. If absent, the port is handled by its IP protocol alone.',
      port: 'Port on which the service is exposed, 1 to 65535.',
      targetPort:
        'Port of the pods, by number or by name. A name is looked up in the container ports of each pod. Defaults to the value of port.',
      nodePort:
        'Port on every node, for types NodePort and LoadBalancer. If absent, the server allocates one from the configured range.',
    },
  },
  'core/v1.ConfigMap': {
    is: 'Configuration data for pods. Keys and values together are limited to 1 MiB.',
    members: {
      data: 'UTF-8 values by key. Keys consist of letters, digits, -, _ and ., and must not also be in binaryData.',
      binaryData: 'Binary values by key, encoded in base64. Keys must not also be in data.',
      immutable: IMMUTABLE,
    },
  },
  'core/v1.Secret': {
    is: 'Confidential data for pods. The values together are limited to 1 MiB.',
    members: {
      data: 'Values by key, encoded in base64. Keys consist of letters, digits, -, _ and .',
      stringData:
        'Values by key as plain strings. Write-only: the server merges them into data, where they take precedence, and never returns them.',
      type: 'Purpose of the data, which determines the required keys. Cannot be changed. Defaults to Opaque.',
      immutable: IMMUTABLE,
    },
  },
  'core/v1.Namespace': {
    is: 'Scope for the names of objects. Its deletion deletes the objects in it.',
  },
  'core/v1.Node': {
    is: 'Machine that runs pods.',
  },
  'core/v1.NamespaceSpec': {
    members: {
      finalizers:
        'Identifiers of components that must act before the namespace is removed. The finalize subresource changes it.',
    },
  },
  'core/v1.NamespaceStatus': {
    members: { phase: 'Phase of the lifecycle: Active or Terminating. Defaults to Active.' },
  },
  'core/v1.NodeSpec': {
    members: {
      podCIDR: 'IP address range of the pods of the node.',
      podCIDRs:
        'IP address ranges of the pods of the node, at most one for each IP family. The first one equals podCIDR.',
      providerID: 'Identifier of the node at its provider, in the form provider://identifier.',
      unschedulable:
        'If true, the scheduler assigns no further pods to the node. Running pods are not affected. Defaults to false.',
      taints: 'Taints of the node. Pods without matching tolerations are repelled or evicted.',
    },
  },
  'core/v1.NodeStatus': {
    members: {
      capacity: 'Total resources of the node, by name.',
      allocatable:
        'Resources available to pods, by name: capacity minus reservations. Defaults to the capacity.',
      addresses: 'IP addresses and host names at which the node can be reached.',
      daemonEndpoints: 'Ports of the node agent.',
      nodeInfo: 'Identifiers of the machine, and versions of its operating system and components.',
      images: 'Container images on the node, with their sizes in bytes. The list may be limited.',
      volumesInUse: 'Unique names of attachable volumes that the node uses. They must not be detached.',
      volumesAttached: 'Volumes that are attached to the node.',
    },
  },
  'core/v1.Taint': {
    is: 'Property of a node that repels pods without a matching toleration.',
    members: {
      key: 'Key of the taint, in the form of a label key.',
      value: 'Value of the taint, in the form of a label value.',
      effect:
        'Effect on pods that do not tolerate the taint. NoSchedule: not scheduled to the node. PreferNoSchedule: scheduled there only as a last resort. NoExecute: neither scheduled nor left running there.',
      timeAdded: 'Time at which the taint was added. Set for NoExecute only.',
    },
  },
  'core/v1.Event': {
    is: 'Report of an occurrence in the cluster. Events expire and are best effort.',
    members: {
      involvedObject: 'Object that the event is about.',
      reason: 'Machine-readable reason for the event, in CamelCase.',
      message: 'Human-readable description of the event.',
      source: 'Component and host that reported the event. Superseded by reportingComponent.',
      firstTimestamp: 'Time of the first occurrence.',
      lastTimestamp: 'Time of the most recent occurrence.',
      count: 'Number of occurrences.',
      type: 'Type of the event: Normal or Warning. More types may be added.',
      eventTime: 'Time of the first occurrence, with a precision of one microsecond.',
      series: 'Repetitions of the event. Absent if it occurred once.',
      action: 'Machine-readable action of the component, successful or failed.',
      related: 'Second object for events about two objects.',
      reportingComponent: 'Name of the component that reported the event.',
      reportingInstance: 'Identifier of the instance of the component.',
    },
  },
  'core/v1.ObjectReference': {
    is: 'Reference to an object, or to a part of one.',
    members: {
      kind: 'Kind of the object.',
      namespace: 'Namespace of the object. Empty for cluster-scoped objects.',
      name: 'Name of the object.',
      uid: 'UID of the object.',
      apiVersion: 'API version of the object.',
      resourceVersion: 'Resource version of the object, if one particular version is meant.',
      fieldPath: 'Path of a field, if a part of the object is meant: spec.containers{name}.',
    },
  },
  'core/v1.LocalObjectReference': {
    is: 'Reference to an object in the same namespace; the field that holds the reference defines the kind.',
    members: { name: 'Name of the object.' },
  },
  'core/v1.LimitRange': {
    is: 'Minimum, maximum and default resource usage of single objects in a namespace.',
  },
  'core/v1.LimitRangeItem': {
    members: {
      type: 'Type of object that the limits apply to: Container, Pod or PersistentVolumeClaim.',
      max: 'Maximum usage, by resource.',
      min: 'Minimum usage, by resource.',
      default: 'Limits of containers that specify none, by resource. If absent, max applies.',
      defaultRequest:
        'Requests of containers that specify none, by resource. If absent, the default limits apply, then min.',
      maxLimitRequestRatio: 'Maximum ratio of limit to request, by resource. Both must then be set.',
    },
  },
  'core/v1.ResourceQuota': { is: 'Limits on the total resource usage in a namespace.' },
  'core/v1.ResourceQuotaSpec': {
    members: {
      hard: 'Maximum total usage, by resource.',
      scopes:
        'Conditions that every counted object meets: Terminating, NotTerminating, BestEffort, NotBestEffort, PriorityClass or CrossNamespacePodAffinity. If empty, all objects are counted.',
      scopeSelector: 'Conditions on scopes and their values, in addition to scopes.',
    },
  },
  'core/v1.ResourceQuotaStatus': {
    members: { hard: 'Enforced maximum usage, by resource.', used: 'Current total usage, by resource.' },
  },
};
