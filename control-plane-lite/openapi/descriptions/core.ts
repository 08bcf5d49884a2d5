/** Descriptions of services, configuration and the other kinds of the core group. Data. */
import type { Texts } from './texts.ts';

export const CORE_TEXTS: Texts = {
  'core/v1.Service': {
    is: 'A name and an address that stand for a changing set of pods.',
  },
  'core/v1.ServiceSpec': {
    is: 'Which pods a service stands for, and how they are reached.',
    members: {
      ports: 'Ports of the service.',
      selector: 'Labels of the pods that the service stands for.',
      clusterIP: 'Address inside the cluster; None for a service without one.',
      clusterIPs: 'The same for each family of addresses.',
      type: 'ClusterIP (default), NodePort, LoadBalancer or ExternalName.',
      externalIPs: 'Addresses outside the cluster whose traffic is for the service.',
      sessionAffinity: 'ClientIP keeps a client with one pod; default None.',
      externalName: 'Domain name that the service is another name for.',
      externalTrafficPolicy:
        'Local leaves traffic from outside on the node where it came in; default Cluster.',
      internalTrafficPolicy: 'Local leaves traffic from inside on its node; default Cluster.',
      ipFamilies: 'Families of its addresses: IPv4, IPv6.',
      ipFamilyPolicy: 'SingleStack, PreferDualStack or RequireDualStack.',
      publishNotReadyAddresses: 'Pods count whether they are ready or not.',
    },
  },
  'core/v1.ServicePort': {
    is: 'A port of a service, and where its traffic goes.',
    members: {
      name: 'Name of the port; needed if there are several.',
      protocol: 'TCP (default), UDP or SCTP.',
      appProtocol: 'What is spoken over it.',
      port: 'Port of the service.',
      targetPort: 'Port of the pods, by number or name. Default: the same number.',
      nodePort: 'Port of every node that leads here.',
    },
  },
  'core/v1.ConfigMap': {
    is: 'Configuration for pods: texts and bytes by name.',
    members: {
      data: 'Texts by name.',
      binaryData: 'Bytes by name, in base64.',
      immutable: 'Nothing of the content can be changed any more.',
    },
  },
  'core/v1.Secret': {
    is: 'Confidential values for pods, by name.',
    members: {
      data: 'Values by name, in base64.',
      stringData: 'Values as text, for writing only.',
      type: 'What the values are for. Cannot be changed.',
      immutable: 'Nothing of the content can be changed any more.',
    },
  },
  'core/v1.Namespace': {
    is: 'A scope for the names of objects.',
  },
  'core/v1.Node': {
    is: 'A machine that runs pods.',
  },
  'core/v1.NamespaceSpec': { members: { finalizers: 'Who has work to do before the namespace may go.' } },
  'core/v1.NamespaceStatus': { members: { phase: 'Active or Terminating.' } },
  'core/v1.NodeSpec': {
    members: {
      podCIDR: 'Range of addresses of its pods.',
      podCIDRs: 'Ranges of addresses of its pods, one for each family.',
      providerID: 'What its provider calls it.',
      unschedulable: 'No new pods are put on it.',
      taints: 'What pods must bear to be put on it.',
    },
  },
  'core/v1.NodeStatus': {
    members: {
      capacity: 'All that it has.',
      allocatable: 'What pods can have of it.',
      addresses: 'Its addresses and names.',
      daemonEndpoints: 'Ports of its agent.',
      nodeInfo: 'Its system, and the versions of its programs.',
      images: 'Images that it has.',
      volumesInUse: 'Volumes that are mounted or about to be.',
      volumesAttached: 'Volumes that are attached.',
    },
  },
  'core/v1.Taint': {
    is: 'Keeps pods away that do not bear it.',
    members: {
      key: 'Its name.',
      value: 'Its value.',
      effect: 'NoSchedule, PreferNoSchedule, or NoExecute, which ends running pods as well.',
      timeAdded: 'When it came.',
    },
  },
  'core/v1.Event': {
    is: 'Something that happened to an object.',
    members: {
      involvedObject: 'The object.',
      reason: 'What happened, in one word.',
      message: 'What happened, for people.',
      source: 'Who saw it.',
      firstTimestamp: 'When it happened first.',
      lastTimestamp: 'When it happened last.',
      count: 'How often it happened.',
      type: 'Normal or Warning.',
      eventTime: 'When it happened first, to the microsecond.',
      series: 'How it went on.',
      action: 'What was done about it.',
      related: 'Another object that has to do with it.',
      reportingComponent: 'Program that saw it.',
      reportingInstance: 'Which of them.',
    },
  },
  'core/v1.ObjectReference': {
    is: 'An object, or a part of one.',
    members: {
      kind: 'Kind of the object.',
      namespace: 'Its namespace.',
      name: 'Its name.',
      uid: 'Its UID.',
      apiVersion: 'Its group and version.',
      resourceVersion: 'Its version.',
      fieldPath: 'Part of it that is meant, such as spec.containers{name}.',
    },
  },
  'core/v1.LocalObjectReference': {
    is: 'An object of the same namespace, whose kind is known.',
    members: { name: 'Its name.' },
  },
  'core/v1.LimitRange': { is: 'The least and the most that objects of a namespace may want.' },
  'core/v1.LimitRangeItem': {
    members: {
      type: 'Pod, Container or PersistentVolumeClaim.',
      max: 'The most, by resource.',
      min: 'The least, by resource.',
      default: 'Limits of containers that give none.',
      defaultRequest: 'Requests of containers that give none.',
      maxLimitRequestRatio: 'How often the limit may be as much as the request.',
    },
  },
  'core/v1.ResourceQuota': { is: 'The most that all objects of a namespace may use together.' },
  'core/v1.ResourceQuotaSpec': {
    members: {
      hard: 'The most, by resource.',
      scopes: 'Pods that count. Default: all.',
      scopeSelector: 'The same, as conditions.',
    },
  },
  'core/v1.ResourceQuotaStatus': { members: { hard: 'The most, by resource.', used: 'What is used.' } },
};
