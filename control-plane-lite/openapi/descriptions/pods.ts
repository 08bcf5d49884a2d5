/** Descriptions of pods and their placement on nodes. Data. */
import type { Texts } from './texts.ts';

export const POD_TEXTS: Texts = {
  'core/v1.Pod': {
    is: 'Containers that run together on one node and share its network and volumes.',
  },
  'core/v1.PodSpec': {
    is: 'Desired state of a pod. Most fields cannot be changed after creation.',
    members: {
      volumes: 'Volumes that the containers of the pod can mount.',
      initContainers:
        'Containers that run to completion, one after another, before the other containers start. If one fails, it is restarted, or the pod fails if restartPolicy is Never. The list cannot be changed.',
      containers: 'Containers of the pod. At least one is required. Containers cannot be added or removed.',
      ephemeralContainers:
        'Containers that are added to a running pod for debugging. They are set through the ephemeralcontainers subresource only.',
      restartPolicy: 'Restart policy of all containers: Always, OnFailure or Never. Defaults to Always.',
      terminationGracePeriodSeconds:
        'Seconds between the termination signal and the kill signal to the containers, including the preStop hook. 0 kills them immediately. Defaults to 30.',
      activeDeadlineSeconds:
        'Seconds after startTime at which the pod is terminated as failed. If absent, there is no limit.',
      dnsPolicy:
        'Source of the DNS configuration. ClusterFirst: the cluster DNS, except with hostNetwork. ClusterFirstWithHostNet: the cluster DNS. Default: the configuration of the node. None: dnsConfig alone. Defaults to ClusterFirst.',
      nodeSelector: 'Labels that the node of the pod must have.',
      serviceAccountName:
        'Name of the service account of the pod. If empty, admission sets the service account named default.',
      serviceAccount: 'Deprecated, use serviceAccountName.',
      automountServiceAccountToken:
        'Whether a token of the service account is mounted. If absent, the setting of the service account applies.',
      nodeName:
        'Name of the node that runs the pod. Set by the scheduler if empty. A pod that is created with a node name bypasses the scheduler.',
      hostNetwork: 'If true, the pod uses the network namespace of the node. Defaults to false.',
      hostPID: 'If true, the pod uses the PID namespace of the node. Defaults to false.',
      hostIPC: 'If true, the pod uses the IPC namespace of the node. Defaults to false.',
      shareProcessNamespace:
        'If true, all containers share one PID namespace. Cannot be combined with hostPID. Defaults to false.',
      securityContext: 'Security settings of the pod and defaults for its containers.',
      imagePullSecrets: 'Secrets for pulling the images, in the namespace of the pod.',
      hostname: 'Host name of the pod, a DNS label. Defaults to the name of the pod.',
      subdomain:
        'Subdomain of the pod. If set, its fully qualified domain name is <hostname>.<subdomain>.<namespace>.svc.<cluster domain>.',
      affinity: 'Scheduling constraints on nodes and on other pods.',
      schedulerName: 'Name of the scheduler that assigns the pod to a node. Defaults to default-scheduler.',
      tolerations: 'Tolerations of node taints.',
      hostAliases: 'Entries to add to the hosts file of the pod. Not applied to pods with hostNetwork.',
      priorityClassName:
        'Name of the priority class. If empty, the class that is marked as the global default applies, or the priority 0.',
      priority:
        'Priority of the pod; higher values are more important. Set by admission from the priority class.',
      dnsConfig: 'DNS servers, search domains and options to merge with the result of dnsPolicy.',
      readinessGates:
        'Further conditions that must be True, in addition to ready containers, for the pod to be ready.',
      runtimeClassName:
        'Name of the runtime class. If absent, the default handler of the container runtime runs the pod.',
      enableServiceLinks:
        'Whether the services of the namespace appear as environment variables. Defaults to true.',
      preemptionPolicy:
        'Whether the pod may preempt pods with a lower priority: PreemptLowerPriority or Never. Defaults to PreemptLowerPriority.',
      overhead:
        'Resources that the runtime uses in addition to the containers. Set by admission from the runtime class.',
      topologySpreadConstraints:
        'Constraints on the spread of matching pods over topology domains. All of them apply.',
      setHostnameAsFQDN:
        'If true, the host name of the pod is its fully qualified domain name. Defaults to false.',
      os: 'Operating system of the containers: linux or windows. Fields for the other one must be unset.',
    },
  },
  'core/v1.PodStatus': {
    is: 'Observed state of a pod, reported by its node agent. It may lag behind the actual state.',
    members: {
      phase:
        'Phase of the lifecycle. Pending: accepted, but not all containers have started. Running: bound to a node, all containers created. Succeeded: all containers terminated successfully. Failed: all terminated, at least one unsuccessfully. Unknown: the state could not be obtained.',
      conditions: 'Conditions of the pod: PodScheduled, Initialized, ContainersReady, Ready and others.',
      message: 'Human-readable reason for the state of the pod.',
      reason: 'Machine-readable reason for the state of the pod, in CamelCase, such as Evicted.',
      nominatedNodeName:
        'Node on which the scheduler preempts other pods for this one. The pod may be scheduled to another node.',
      hostIP: 'IP address of the node. Empty if the pod is not scheduled.',
      podIP: 'IP address of the pod. Empty if none is allocated.',
      podIPs: 'IP addresses of the pod, at most one for each IP family. The first one equals podIP.',
      startTime: 'Time at which the node agent accepted the pod, before it pulled any images.',
      containerStatuses: 'Status of each container.',
      initContainerStatuses: 'Status of each init container.',
      ephemeralContainerStatuses: 'Status of each ephemeral container.',
      qosClass:
        'Quality of service class, derived from requests and limits: Guaranteed, Burstable or BestEffort.',
    },
  },
  'core/v1.PodTemplateSpec': {
    is: 'Metadata and desired state of pods that are created from a template.',
    members: {
      spec: 'Desired state of the pods.',
    },
  },
  'core/v1.PodSecurityContext': {
    is: 'Security settings of a pod. Settings of a container take precedence where both exist.',
    members: {
      runAsUser: 'UID of the processes. If absent, the user of the image applies.',
      runAsGroup: 'Primary GID of the processes. If absent, the default of the container runtime applies.',
      runAsNonRoot:
        'If true, the node agent does not start containers that would run as UID 0. Defaults to false.',
      supplementalGroups: 'GIDs of the processes in addition to the primary one.',
      fsGroup:
        'Supplemental GID that owns the volumes that support it. Their files become accessible to the group. If absent, ownership and permissions remain unchanged.',
      fsGroupChangePolicy:
        'When ownership and permissions are changed for fsGroup. Always: with every mount. OnRootMismatch: only if the root directory of the volume does not match. Defaults to Always.',
      sysctls: 'Namespaced kernel parameters of the pod. The node rejects the pod if it does not allow one.',
      seccompProfile: 'Seccomp profile of the containers.',
    },
  },
  'core/v1.Toleration': {
    is: 'Allows a pod on nodes with matching taints.',
    members: {
      key: 'Key of the taints. If empty, the operator must be Exists, and all taints match.',
      operator: 'Equal compares the value; Exists matches every value. Defaults to Equal.',
      value: 'Value of the taints. Must be empty for the operator Exists.',
      effect: 'Effect of the taints: NoSchedule, PreferNoSchedule or NoExecute. If empty, all effects match.',
      tolerationSeconds:
        'Seconds that the pod remains on a node with a matching NoExecute taint; 0 or less evicts it immediately. If absent, it remains. Requires the effect NoExecute.',
    },
  },
  'core/v1.Affinity': {
    is: 'Scheduling constraints of a pod.',
    members: {
      nodeAffinity: 'Nodes that the pod requires or prefers.',
      podAffinity: 'Pods that should run in the same topology domain.',
      podAntiAffinity: 'Pods that should not run in the same topology domain.',
    },
  },
  'core/v1.PodAffinityTerm': {
    is: 'Set of pods and the topology domain that relates the pod to them.',
    members: {
      labelSelector: 'Labels of the pods. An empty selector matches all pods; an absent one matches none.',
      namespaces:
        'Names of the namespaces of the pods, in addition to those of namespaceSelector. If both are absent, the namespace of this pod applies.',
      namespaceSelector:
        'Labels of the namespaces of the pods. An empty selector matches all namespaces. If absent, only namespaces applies.',
      topologyKey:
        'Label key of nodes. Nodes with the same value are in the same topology domain. Must not be empty.',
    },
  },
  'core/v1.NodeSelectorRequirement': {
    is: 'Requirement on one label or field of nodes.',
    members: {
      key: 'Label key, or name of the field.',
      operator: 'Relation of the key to the values: In, NotIn, Exists, DoesNotExist, Gt or Lt.',
      values:
        'Values to compare with. Required for In and NotIn, empty for Exists and DoesNotExist, a single integer for Gt and Lt.',
    },
  },
  'core/v1.TopologySpreadConstraint': {
    is: 'Constraint on the spread of matching pods over topology domains.',
    members: {
      maxSkew:
        'Maximum difference between the number of matching pods in a domain and the minimum over all eligible domains. At least 1.',
      topologyKey: 'Label key of nodes. Nodes with the same value are in the same topology domain.',
      whenUnsatisfiable:
        'Handling of a pod that would violate the constraint. DoNotSchedule leaves it pending. ScheduleAnyway prefers nodes that reduce the skew.',
      labelSelector: 'Labels of the pods to count, in the namespace of the pod.',
      minDomains:
        'Minimum number of eligible domains. While there are fewer, the minimum counts as 0. Requires DoNotSchedule. If absent, 1 applies.',
    },
  },
};
