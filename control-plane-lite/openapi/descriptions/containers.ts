/** Descriptions of containers and their parts. Data. */
import type { Texts } from './texts.ts';

const optional = (object: string): string =>
  `If true, the ${object} and its keys may be missing. Otherwise, the container does not start without them. Defaults to false.`;
const PORT_REFERENCE = 'Number of the port, 1 to 65535, or name of a container port.';
const NOT_EPHEMERAL = 'Not allowed for ephemeral containers.';
const HOST = 'Host to connect to. Defaults to the IP address of the pod.';

export const CONTAINER_TEXTS: Texts = {
  'core/v1.Container': {
    is: 'Container of a pod, run from an image.',
    members: {
      name: 'Name of the container, a DNS label, unique in the pod. Cannot be changed.',
      image: 'Image that the container runs.',
      command:
        'Entry point, instead of the one of the image. No shell interprets it. $(NAME) expands to an environment variable of the container; $$(NAME) remains literal as $(NAME).',
      args: 'Arguments of the entry point, instead of those of the image. Expanded like command.',
      workingDir: 'Working directory. If empty, the one of the image applies.',
      ports:
        'Ports to expose. Informational, apart from host ports: a port that is not listed may be reachable nevertheless.',
      envFrom:
        'ConfigMaps and Secrets whose keys become environment variables. env takes precedence, and later sources over earlier ones.',
      env: 'Environment variables.',
      resources: 'Compute resources of the container.',
      volumeMounts: 'Volumes to mount into the file system of the container.',
      volumeDevices: 'Volumes to map into the container as block devices.',
      livenessProbe: 'Probe whose failure restarts the container.',
      readinessProbe: 'Probe whose failure removes the pod from the endpoints of services.',
      startupProbe:
        'Probe that must succeed before the other probes run. Its failure restarts the container.',
      lifecycle: 'Hooks after the start and before the termination of the container.',
      terminationMessagePath:
        'File in the container whose content becomes the termination message. Defaults to /dev/termination-log.',
      terminationMessagePolicy:
        'Source of the termination message. File: the file only. FallbackToLogsOnError: the end of the log if the file is empty and the container failed. Defaults to File.',
      imagePullPolicy:
        'When the image is pulled: Always, IfNotPresent or Never. Defaults to Always for the tag latest or no tag, to IfNotPresent otherwise.',
      securityContext: 'Security settings of the container. They take precedence over those of the pod.',
      stdin:
        'Whether a buffer is allocated for standard input. Otherwise, reads return EOF. Defaults to false.',
      stdinOnce:
        'Whether standard input is closed after the first attached client has disconnected. Defaults to false.',
      tty: 'Whether the container has a terminal. Requires stdin. Defaults to false.',
    },
  },
  'core/v1.EphemeralContainer': {
    is: 'Container that is added to a running pod for debugging. It has no resource guarantees and is not restarted.',
    members: {
      resources: NOT_EPHEMERAL,
      ports: NOT_EPHEMERAL,
      livenessProbe: NOT_EPHEMERAL,
      readinessProbe: NOT_EPHEMERAL,
      startupProbe: NOT_EPHEMERAL,
      lifecycle: NOT_EPHEMERAL,
      targetContainerName:
        'Container whose process namespace the ephemeral container joins. If empty, it uses the namespaces of the pod.',
    },
  },
  'core/v1.ContainerPort': {
    is: 'Network port of a container.',
    members: {
      name: 'Name of the port, unique in the pod, which services can refer to.',
      hostPort:
        'Port of the node, 1 to 65535, that is forwarded to the container. With hostNetwork, equal to containerPort.',
      containerPort: 'Port of the container, 1 to 65535.',
      protocol: 'IP protocol: TCP, UDP or SCTP. Defaults to TCP.',
      hostIP: 'IP address of the node that the host port is bound to. If empty, all addresses.',
    },
  },
  'core/v1.EnvVar': {
    is: 'Environment variable of a container.',
    members: {
      name: 'Name of the variable.',
      value:
        'Value of the variable. $(NAME) expands to a variable that is defined earlier; $$(NAME) remains literal as $(NAME). Defaults to the empty string.',
      valueFrom: 'Source of the value. Cannot be combined with a value that is not empty.',
    },
  },
  'core/v1.EnvVarSource': {
    is: 'Source of the value of an environment variable. Exactly one member is set.',
    members: {
      fieldRef: 'Field of the pod.',
      resourceFieldRef: 'Limit or request of a container.',
      configMapKeyRef: 'Key of a ConfigMap.',
      secretKeyRef: 'Key of a Secret.',
    },
  },
  'core/v1.EnvFromSource': {
    is: 'ConfigMap or Secret whose keys become environment variables.',
    members: {
      prefix: 'Prefix of the names of the variables.',
      configMapRef: 'ConfigMap with the variables.',
      secretRef: 'Secret with the variables.',
    },
  },
  'core/v1.ConfigMapKeySelector': {
    members: {
      name: 'Name of the ConfigMap, in the namespace of the pod.',
      key: 'Key of the value.',
      optional: optional('ConfigMap'),
    },
  },
  'core/v1.SecretKeySelector': {
    members: {
      name: 'Name of the Secret, in the namespace of the pod.',
      key: 'Key of the value.',
      optional: optional('Secret'),
    },
  },
  'core/v1.ObjectFieldSelector': {
    members: {
      apiVersion: 'API version of the field path. Defaults to v1.',
      fieldPath: "Path of the field, such as metadata.name or metadata.labels['app'].",
    },
  },
  'core/v1.ResourceFieldSelector': {
    members: {
      containerName: 'Name of the container. Required in volumes; the container itself in variables.',
      resource: 'Limit or request, such as limits.cpu.',
      divisor: 'Unit of the value, which is rounded up. Defaults to 1.',
    },
  },
  'core/v1.Probe': {
    is: 'Periodic health check of a container. Exactly one of exec, httpGet, tcpSocket and grpc is set.',
    members: {
      exec: 'Command in the container. Exit status 0 is success.',
      httpGet: 'HTTP GET request. A status code from 200 to 399 is success.',
      tcpSocket: 'TCP connection. An established connection is success.',
      grpc: 'Request of the gRPC health checking protocol.',
      initialDelaySeconds: 'Seconds from the start of the container to the first probe. Defaults to 0.',
      timeoutSeconds: 'Timeout of one probe in seconds, at least 1. Defaults to 1.',
      periodSeconds: 'Interval of the probes in seconds, at least 1. Defaults to 10.',
      successThreshold:
        'Consecutive successes for the probe to count as successful after a failure. Must be 1 for liveness and startup probes. Defaults to 1.',
      failureThreshold:
        'Consecutive failures for the probe to count as failed after a success, at least 1. Defaults to 3.',
      terminationGracePeriodSeconds:
        'Grace period in seconds for a container that this probe terminates, at least 1. If absent, the one of the pod applies. Not allowed for readiness probes.',
    },
  },
  'core/v1.HTTPGetAction': {
    is: 'HTTP GET request.',
    members: {
      path: 'Path of the request. Defaults to /.',
      port: PORT_REFERENCE,
      host: `${HOST} To set a virtual host, use a Host header instead.`,
      scheme: 'Scheme of the request: HTTP or HTTPS. Certificates are not verified. Defaults to HTTP.',
      httpHeaders: 'Further headers of the request. Repeated headers are allowed.',
    },
  },
  'core/v1.ExecAction': {
    is: 'Command that runs in the container.',
    members: {
      command: 'Program and its arguments. No shell interprets them. The working directory is /.',
    },
  },
  'core/v1.TCPSocketAction': {
    is: 'Attempt to establish a TCP connection.',
    members: { port: PORT_REFERENCE, host: HOST },
  },
  'core/v1.GRPCAction': {
    is: 'Request of the gRPC health checking protocol.',
    members: {
      port: 'Number of the port, 1 to 65535.',
      service: 'Name of the service in the health check. If empty, the server as a whole is checked.',
    },
  },
  'core/v1.Lifecycle': {
    is: 'Hooks into the lifecycle of a container.',
    members: {
      postStart:
        'Runs immediately after the container has been created, concurrently with the entry point. If it fails, the container is terminated and restarted according to its restart policy.',
      preStop:
        'Runs before the container is terminated by a deletion, a failed probe, preemption or the like; not if the container exits. The grace period includes it.',
    },
  },
  'core/v1.LifecycleHandler': {
    is: 'Action of a hook. Exactly one of exec and httpGet is set.',
    members: {
      exec: 'Command in the container.',
      httpGet: 'HTTP GET request.',
      tcpSocket: 'Deprecated. Not supported for hooks; such a hook fails.',
    },
  },
  'core/v1.ResourceRequirements': {
    is: 'Compute resource requirements.',
    members: {
      limits:
        'Maximum usage, by resource, such as cpu, memory or ephemeral-storage. If absent, usage is not limited.',
      requests:
        'Minimum amounts that are reserved, by resource; they must not exceed the limits. Defaults to the limit of the same resource, or to 0.',
    },
  },
  'core/v1.SecurityContext': {
    is: 'Security settings of a container. They take precedence over those of the pod.',
    members: {
      capabilities:
        'Capabilities to add and to drop. If absent, the defaults of the container runtime apply.',
      privileged:
        'If true, the processes have the capabilities of root on the node and access to its devices. Defaults to false.',
      runAsUser: 'UID of the entry point. If absent, the one of the pod applies, then the user of the image.',
      runAsGroup: 'Primary GID of the entry point. If absent, the one of the pod applies.',
      runAsNonRoot: 'If true, the node agent does not start the container if it would run as UID 0.',
      readOnlyRootFilesystem: 'If true, the root file system is read-only. Defaults to false.',
      allowPrivilegeEscalation:
        'Whether a process may gain more privileges than its parent. Cannot be false for privileged containers, nor with the capability CAP_SYS_ADMIN. If absent, it may.',
      seccompProfile: 'Seccomp profile of the container. If absent, the one of the pod applies.',
    },
  },
  'core/v1.Capabilities': {
    members: { add: 'Capabilities to add.', drop: 'Capabilities to drop.' },
  },
  'core/v1.SeccompProfile': {
    is: 'Profile that filters system calls.',
    members: {
      type: 'RuntimeDefault: the profile of the container runtime. Localhost: a file on the node. Unconfined: no profile.',
      localhostProfile:
        'Path of the file, relative to the seccomp directory of the node agent. Required for the type Localhost and only allowed there.',
    },
  },
  'core/v1.Volume': {
    is: 'Volume of a pod. Exactly one source is set.',
    members: {
      name: 'Name of the volume, a DNS label, unique in the pod.',
      emptyDir: 'Directory that is initially empty and is deleted with the pod.',
      hostPath: 'File or directory of the node.',
      configMap: 'Data of a ConfigMap as files.',
      secret: 'Data of a Secret as files.',
      projected: 'Several sources in one directory.',
      downwardAPI: 'Fields and resources of the pod as files.',
      persistentVolumeClaim: 'Volume that is bound to a claim in the same namespace.',
      csi: 'Ephemeral volume that is specified inline and provided by a CSI driver.',
      ephemeral: 'Volume of a claim that is created from a template and deleted with the pod.',
      nfs: 'Directory that an NFS server exports.',
    },
  },
  'core/v1.VolumeMount': {
    is: 'Mount of a volume in a container.',
    members: {
      name: 'Name of the volume in the pod.',
      mountPath: 'Path in the container. Must not contain a colon.',
      subPath: 'Relative path in the volume to mount. Defaults to the root of the volume.',
      subPathExpr:
        'Relative path in the volume to mount, in which $(NAME) expands to an environment variable of the container. Cannot be combined with subPath.',
      readOnly: 'If true, the mount is read-only. Defaults to false.',
      mountPropagation:
        'Propagation of mounts below the volume. None: in neither direction. HostToContainer: later mounts of the node appear in the container. Bidirectional: mounts of the container also appear on the node, which requires a privileged container. Defaults to None.',
    },
  },
  'core/v1.ContainerStatus': {
    is: 'Observed state of a container.',
    members: {
      name: 'Name of the container.',
      state: 'Current state.',
      lastState: 'State in which the container last terminated.',
      ready: 'True if the container is running and its readiness probe succeeds.',
      restartCount: 'Number of restarts.',
      image: 'Image that the container runs.',
      imageID: 'Identifier of the image, usually with its digest.',
      containerID: 'Identifier of the container at its runtime, in the form type://identifier.',
      started: 'True if the startup probe has succeeded, or if the container is running and has none.',
    },
  },
  'core/v1.ContainerState': {
    is: 'State of a container. One member is set; waiting is assumed if none is.',
    members: {
      waiting: 'The container has not started yet; reason and message say why.',
      running: 'The container is running.',
      terminated: 'The container has terminated.',
    },
  },
  'core/v1.ContainerStateTerminated': {
    members: {
      exitCode: 'Exit status; 0 is success.',
      signal: 'Signal that terminated the container.',
      reason: 'Machine-readable reason for the termination, such as Completed, Error or OOMKilled.',
      message: 'Termination message of the container.',
      startedAt: 'Time at which the container started.',
      finishedAt: 'Time at which the container terminated.',
      containerID: 'Identifier of the container at its runtime, in the form type://identifier.',
    },
  },
};
