/** Descriptions of pods and their parts. Data. */
import type { Texts } from './texts.ts';

export const POD_TEXTS: Texts = {
  'core/v1.Pod': {
    is: 'Containers that run together on one node and share its network and volumes.',
  },
  'core/v1.PodSpec': {
    is: 'How the containers of a pod are to be run.',
    members: {
      volumes: 'Directories that the containers can mount.',
      initContainers: 'Containers that run before the others, one after the other; each must end well.',
      containers: 'The containers. At least one; they cannot be added or removed later.',
      ephemeralContainers: 'Containers put into a running pod to look into it. Set through a subresource.',
      restartPolicy: 'When ended containers start again: Always (default), OnFailure or Never.',
      terminationGracePeriodSeconds:
        'Seconds that the containers have to end by themselves when the pod is deleted. Default 30.',
      activeDeadlineSeconds: 'Seconds after its start at which the pod is ended as failed.',
      dnsPolicy:
        'Where names are looked up: ClusterFirst (default), ClusterFirstWithHostNet, Default or None.',
      nodeSelector: 'Labels that a node must have to run the pod.',
      serviceAccountName: 'Service account as which the pod speaks to the API server.',
      serviceAccount: 'Old name of serviceAccountName.',
      automountServiceAccountToken: 'Whether a token of the service account is mounted.',
      nodeName: 'Node that runs the pod. Set by the scheduler, or by who does without it.',
      hostNetwork: 'The containers use the network of the node.',
      hostPID: 'The containers see the processes of the node.',
      hostIPC: 'The containers share IPC with the node.',
      shareProcessNamespace: 'The containers see the processes of one another.',
      securityContext: 'Rights that all containers have unless they say otherwise.',
      imagePullSecrets: 'Secrets for pulling the images.',
      hostname: 'Host name inside the pod. Default: the name of the pod.',
      subdomain: 'Domain of the host name, below that of the namespace.',
      affinity: 'Nodes and other pods to be near to, or far from.',
      schedulerName: 'Scheduler that finds a node for the pod.',
      tolerations: 'Taints of nodes that the pod bears.',
      hostAliases: 'Further lines for the hosts file of the pod.',
      priorityClassName: 'Name of the priority class.',
      priority: 'How important the pod is; from the priority class.',
      dnsConfig: 'Name servers, search domains and options beside those of dnsPolicy.',
      readinessGates: 'Conditions that must be true as well for the pod to be ready.',
      runtimeClassName: 'Runtime class that runs the pod.',
      enableServiceLinks: 'Services of the namespace appear as environment variables. Default true.',
      preemptionPolicy: 'Whether less important pods make room: PreemptLowerPriority (default) or Never.',
      overhead: 'What the runtime itself needs beside the containers; from the runtime class.',
      topologySpreadConstraints: 'How the pods of a set are spread over nodes and zones.',
      setHostnameAsFQDN: 'The host name is the whole domain name.',
      os: 'Operating system that the containers are made for.',
    },
  },
  'core/v1.PodStatus': {
    is: 'How far a pod has come, as the agent of its node reports.',
    members: {
      phase: 'Pending, Running, Succeeded, Failed or Unknown.',
      conditions: 'What has been reached: scheduled, initialized, containers ready, ready.',
      message: 'Why it is in this state, for people.',
      reason: 'Why it is in this state, in one word.',
      hostIP: 'Address of its node.',
      podIP: 'Address of the pod.',
      podIPs: 'All addresses of the pod.',
      startTime: 'When the node took it on.',
      containerStatuses: 'State of each container.',
      initContainerStatuses: 'State of each init container.',
      qosClass: 'Guaranteed, Burstable or BestEffort: who has to go first when the node runs short.',
    },
  },
  'core/v1.PodTemplateSpec': {
    is: 'What pods that are made from a template look like.',
    members: {
      spec: 'What is wanted of the pods.',
    },
  },
  'core/v1.Container': {
    is: 'One program of a pod, run from an image.',
    members: {
      name: 'Name of the container, unlike that of any other of the pod.',
      image: 'Image that it runs from.',
      command: 'Program and first arguments, instead of the entry point of the image.',
      args: 'Arguments of the entry point, instead of those of the image.',
      workingDir: 'Directory in which the program starts. Default: that of the image.',
      ports: 'Ports that the container listens on; for information, except for host ports.',
      envFrom: 'Config maps and secrets whose keys become environment variables.',
      env: 'Environment variables.',
      resources: 'What it needs of the node, and what it may use at most.',
      volumeMounts: 'Volumes of the pod, and where the container sees them.',
      volumeDevices: 'Volumes of the pod that it gets as block devices.',
      livenessProbe: 'When this fails, the container is restarted.',
      readinessProbe: 'While this fails, services send nothing to the pod.',
      startupProbe: 'Until this succeeds, the other probes wait.',
      lifecycle: 'What is done after the start and before the end.',
      terminationMessagePath: 'File whose content tells why the container ended.',
      terminationMessagePolicy: 'Where that is read from: File (default) or FallbackToLogsOnError.',
      imagePullPolicy: 'When the image is pulled: Always, IfNotPresent or Never.',
      securityContext: 'Rights of this container.',
      stdin: 'Keeps the standard input open.',
      stdinOnce: 'Closes the standard input after the first client that attached to it.',
      tty: 'Gives the container a terminal. Needs stdin.',
    },
  },
  'core/v1.ContainerPort': {
    is: 'A port that a container listens on.',
    members: {
      name: 'Name by which services can refer to the port.',
      hostPort: 'Port of the node that leads here.',
      containerPort: 'Number of the port, 1 to 65535.',
      protocol: 'TCP (default), UDP or SCTP.',
      hostIP: 'Address of the node that the host port is bound to.',
    },
  },
  'core/v1.EnvVar': {
    is: 'One environment variable of a container.',
    members: {
      name: 'Name of the variable.',
      value: 'Its text; $(NAME) stands for a variable set before.',
      valueFrom: 'Where the text comes from instead.',
    },
  },
  'core/v1.Probe': {
    is: 'How and how often a container is asked whether it is well.',
    members: {
      exec: 'A command that must end with 0.',
      httpGet: 'A request that must be answered with a status from 200 to 399.',
      tcpSocket: 'A port that must take connections.',
      grpc: 'A gRPC health check.',
      initialDelaySeconds: 'Seconds from the start of the container to the first probe.',
      timeoutSeconds: 'Seconds that one probe may take. Default 1.',
      periodSeconds: 'Seconds between probes. Default 10.',
      successThreshold: 'Successes in a row that end a failure. Default 1.',
      failureThreshold: 'Failures in a row that make a failure. Default 3.',
      terminationGracePeriodSeconds: 'Seconds to end by itself when this probe has failed.',
    },
  },
  'core/v1.ResourceRequirements': {
    is: 'What a container needs of the node, and what it may use at most.',
    members: {
      limits: 'The most that it may use, by resource: cpu, memory, ephemeral-storage and others.',
      requests: 'What is kept free for it. Default: the limits.',
    },
  },
  'core/v1.SecurityContext': {
    is: 'Rights of one container; they win over those of its pod.',
    members: {
      capabilities: 'Capabilities to add to those of the runtime, and to drop.',
      privileged: 'The container may do what root of the node may do.',
      runAsUser: 'User ID of the program.',
      runAsGroup: 'Group ID of the program.',
      runAsNonRoot: 'Refuses to start as root.',
      readOnlyRootFilesystem: 'Nothing of the image can be changed.',
      allowPrivilegeEscalation: 'Whether a program may gain more rights than its parent.',
      seccompProfile: 'Which system calls are allowed.',
    },
  },
  'core/v1.PodSecurityContext': {
    is: 'Rights that all containers of a pod have unless they say otherwise.',
    members: {
      runAsUser: 'User ID of the programs.',
      runAsGroup: 'Group ID of the programs.',
      runAsNonRoot: 'Refuses to start containers as root.',
      supplementalGroups: 'Further groups of the programs.',
      fsGroup: 'Group that owns the files of volumes.',
      fsGroupChangePolicy: 'When files are given to that group: Always (default) or OnRootMismatch.',
      sysctls: 'Kernel settings of the pod.',
      seccompProfile: 'Which system calls are allowed.',
    },
  },
  'core/v1.Volume': {
    is: 'A directory that containers of a pod can mount, and where its content comes from.',
    members: {
      name: 'Name by which containers mount the volume.',
      emptyDir: 'A directory that is empty at first and goes with the pod.',
      hostPath: 'A file or directory of the node.',
      configMap: 'The content of a config map.',
      secret: 'The content of a secret.',
      projected: 'Several sources in one directory.',
      downwardAPI: 'Facts about the pod as files.',
      persistentVolumeClaim: 'Storage that was claimed.',
      csi: 'Storage from a CSI driver, for this pod alone.',
      ephemeral: 'Storage that is claimed with the pod and goes with it.',
      nfs: 'A directory of an NFS server.',
    },
  },
  'core/v1.VolumeMount': {
    is: 'Where a container sees a volume of its pod.',
    members: {
      name: 'Name of the volume.',
      mountPath: 'Directory of the container; must not contain a colon.',
      subPath: 'Path inside the volume to mount instead of all of it.',
      subPathExpr: 'The same with $(NAME) for environment variables.',
      readOnly: 'Nothing can be changed through this mount.',
      mountPropagation:
        'Whether later mounts come through: None (default), HostToContainer or Bidirectional.',
    },
  },
  'core/v1.EnvVarSource': {
    is: 'Where the value of a variable comes from.',
    members: {
      fieldRef: 'A field of the pod.',
      resourceFieldRef: 'A limit or request of a container.',
      configMapKeyRef: 'A key of a config map.',
      secretKeyRef: 'A key of a secret.',
    },
  },
  'core/v1.EnvFromSource': {
    is: 'A config map or secret whose keys become variables.',
    members: { prefix: 'Put before every name.', configMapRef: 'The config map.', secretRef: 'The secret.' },
  },
  'core/v1.ConfigMapKeySelector': {
    members: { name: 'Name of the config map.', key: 'The key.', optional: 'It need not be there.' },
  },
  'core/v1.SecretKeySelector': {
    members: { name: 'Name of the secret.', key: 'The key.', optional: 'It need not be there.' },
  },
  'core/v1.ObjectFieldSelector': {
    members: {
      apiVersion: 'Version of the path. Default v1.',
      fieldPath: 'The field, such as metadata.name.',
    },
  },
  'core/v1.ResourceFieldSelector': {
    members: {
      containerName: 'The container; needed for volumes.',
      resource: 'Limit or request, such as limits.cpu.',
      divisor: 'Unit of the value. Default 1.',
    },
  },
  'core/v1.HTTPGetAction': {
    is: 'An HTTP request.',
    members: {
      path: 'Path of the request. Default /.',
      port: 'Number or name of the port.',
      host: 'Where it goes. Default: the address of the pod.',
      scheme: 'HTTP (default) or HTTPS.',
      httpHeaders: 'Further headers.',
    },
  },
  'core/v1.ExecAction': {
    is: 'A command that runs inside the container.',
    members: { command: 'Program and arguments; no shell is in between.' },
  },
  'core/v1.TCPSocketAction': {
    is: 'A connection to a port.',
    members: { port: 'Number or name of the port.', host: 'Where it goes. Default: the address of the pod.' },
  },
  'core/v1.GRPCAction': {
    is: 'A gRPC health check.',
    members: { port: 'Number of the port.', service: 'Name of the service to ask about.' },
  },
  'core/v1.Lifecycle': {
    members: {
      postStart: 'Done right after the start; if it fails, the container ends.',
      preStop: 'Done before the container is told to end.',
    },
  },
  'core/v1.LifecycleHandler': {
    members: { exec: 'A command.', httpGet: 'An HTTP request.', tcpSocket: 'Not supported.' },
  },
  'core/v1.Capabilities': { members: { add: 'To be added.', drop: 'To be taken away.' } },
  'core/v1.SeccompProfile': {
    is: 'Which system calls are allowed.',
    members: {
      type: 'RuntimeDefault, Unconfined, or Localhost: a file of the node.',
      localhostProfile: 'That file, below the seccomp folder of the agent.',
    },
  },
  'core/v1.ContainerStatus': {
    is: 'How a container is.',
    members: {
      name: 'Name of the container.',
      state: 'What it does now.',
      lastState: 'What it did before its last restart.',
      ready: 'Its readiness probe succeeds.',
      restartCount: 'How often it was restarted.',
      image: 'Image that it runs.',
      imageID: 'That image by its digest.',
      containerID: 'What the runtime calls it.',
      started: 'Its startup probe has succeeded.',
    },
  },
  'core/v1.ContainerState': {
    is: 'One of three states.',
    members: { waiting: 'It does not run yet.', running: 'It runs.', terminated: 'It has ended.' },
  },
  'core/v1.ContainerStateTerminated': {
    members: {
      exitCode: 'How it ended: 0 is well.',
      signal: 'Signal that ended it.',
      startedAt: 'When it started.',
      finishedAt: 'When it ended.',
      containerID: 'What the runtime called it.',
    },
  },
  'core/v1.Toleration': {
    is: 'Bears taints of nodes.',
    members: {
      key: 'Name of the taint; empty with Exists for all.',
      operator: 'Equal (default) or Exists.',
      value: 'Value of the taint, for Equal.',
      effect: 'Effect of the taint. Default: all.',
      tolerationSeconds: 'Seconds for which NoExecute is borne. Default: for ever.',
    },
  },
  'core/v1.Affinity': {
    is: 'Nodes and other pods to be near to, or far from.',
    members: {
      nodeAffinity: 'Nodes to run on.',
      podAffinity: 'Pods to be near to.',
      podAntiAffinity: 'Pods to be far from.',
    },
  },
  'core/v1.PodAffinityTerm': {
    members: {
      labelSelector: 'Labels of the pods.',
      namespaces: 'Their namespaces. Default: that of the pod.',
      namespaceSelector: 'Labels of their namespaces.',
      topologyKey: 'Label of nodes; nodes with the same value are near to each other.',
    },
  },
  'core/v1.NodeSelectorRequirement': {
    is: 'One condition on a label or field of nodes.',
    members: {
      key: 'Name of the label or field.',
      operator: 'In, NotIn, Exists, DoesNotExist, Gt or Lt.',
      values: 'Values to compare with.',
    },
  },
  'core/v1.TopologySpreadConstraint': {
    is: 'How pods are spread.',
    members: {
      maxSkew: 'By how many pods one place may be ahead of another.',
      topologyKey: 'Label of nodes; nodes with the same value are one place.',
      whenUnsatisfiable: 'DoNotSchedule, or ScheduleAnyway.',
      labelSelector: 'Labels of the pods that count.',
      minDomains: 'The least number of places.',
    },
  },
  'core/v1.EphemeralContainer': {
    is: 'A container put into a running pod to look into it.',
    members: { targetContainerName: 'Container whose processes it sees.' },
  },
};
